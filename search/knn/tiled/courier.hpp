#pragma once
// One thread that does a rank's errands beside its search: what it exchanges with other ranks and
// what it copies from its executor. A communicator serves one thread at a time, and all ranks must
// call it in the same order. So errands are done one after the other, in the order of their
// posting, and nobody else calls the communicator while any are under way.

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace kselect::search {

class courier {
 public:
  // `begin` runs first on the courier's thread. Not `beside`: there is no thread, and post() does
  // the errand before it returns.
  courier(bool beside, const std::function<void()>& begin);
  courier(const courier&) = delete;
  courier& operator=(const courier&) = delete;
  // Waits for the errand under way and drops those that have not begun.
  ~courier();

  // The future has the exception of the errand. After one that failed, those behind it are not
  // done and fail with the same exception, because the ranks' order is broken.
  std::future<void> post(std::function<void()> errand);

 private:
  void work(const std::function<void()>& begin);

  std::mutex guard_;
  std::condition_variable posted_;
  std::deque<std::packaged_task<void()>> errands_;
  bool ends_ = false;
  std::exception_ptr failed_;  // of the thread that does the errands
  std::jthread thread_;
};

}  // namespace kselect::search
