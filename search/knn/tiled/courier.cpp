#include "search/knn/tiled/courier.hpp"

#include <utility>

namespace kselect::search {

courier::courier(bool beside, const std::function<void()>& begin) {
  if (beside) thread_ = std::jthread([this, begin] { work(begin); });
}

courier::~courier() {
  const std::scoped_lock lock(guard_);
  ends_ = true;
  errands_.clear();
  posted_.notify_all();
}

std::future<void> courier::post(std::function<void()> errand) {
  std::packaged_task<void()> task([this, errand = std::move(errand)] {
    if (failed_) std::rethrow_exception(failed_);
    try {
      errand();
    } catch (...) {
      failed_ = std::current_exception();
      throw;
    }
  });
  std::future<void> done = task.get_future();
  if (!thread_.joinable()) {
    task();
    return done;
  }
  const std::scoped_lock lock(guard_);
  errands_.push_back(std::move(task));
  posted_.notify_all();
  return done;
}

void courier::work(const std::function<void()>& begin) {
  try {
    begin();
  } catch (...) {
    failed_ = std::current_exception();
  }
  while (true) {
    std::packaged_task<void()> task;
    {
      std::unique_lock lock(guard_);
      posted_.wait(lock, [this] { return ends_ || !errands_.empty(); });
      if (ends_) return;
      task = std::move(errands_.front());
      errands_.pop_front();
    }
    task();
  }
}

}  // namespace kselect::search
