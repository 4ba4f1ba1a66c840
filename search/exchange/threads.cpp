// Ranks as threads of one process, which communicate through its memory.
//
// Every call has two barriers. Between them each rank's buffers are open to the other ranks, which
// copy their data from there. After the second barrier no rank reads them.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "runtime/copy_by_threads.hpp"
#include "runtime/error.hpp"
#include "search/exchange/communicator.hpp"
#include "search/search.hpp"

namespace kselect::search {
namespace {

using column = communicator::column;

std::string name_of(int rank, std::size_t size) { return fmt::format("rank {} of {}", rank, size); }

// The buffers that a rank opens to the others.
struct open_buffers {
  std::span<std::byte> bytes = {};
  const std::string* text = nullptr;
  std::span<const column> columns = {};
};

// The state that the ranks of a process share.
class meeting_place {
 public:
  meeting_place(int size, double limit_s)
      : limit_s_(limit_s), here_(static_cast<std::size_t>(size), false), open_(here_.size()) {}

  std::size_t size() const { return here_.size(); }
  double limit_s() const { return limit_s_; }
  open_buffers& of(int rank) { return open_[static_cast<std::size_t>(rank)]; }

  // A barrier of all ranks.
  void meet(int rank, const char* what) {
    std::unique_lock lock(guard_);
    require_all_alive();
    here_[static_cast<std::size_t>(rank)] = true;
    if (std::ranges::all_of(here_, std::identity{})) {
      here_.assign(here_.size(), false);
      ++meetings_;
      changed_.notify_all();
      return;
    }
    const std::uint64_t before = meetings_;
    const bool met = changed_.wait_for(lock, std::chrono::duration<double>(limit_s_),
                                       [&] { return meetings_ != before || failed_; });
    if (meetings_ != before) return;
    require_all_alive();
    if (!met) give_up(what);
  }

  // The rank has ended with exception `thrown` and will not come to any meeting.
  void leave(int rank, std::exception_ptr thrown) {
    const std::scoped_lock lock(guard_);
    if (!first_thrown_) first_thrown_ = std::move(thrown);
    fail(name_of(rank, size()) + " has failed");
  }
  // Call it after all ranks have ended.
  void rethrow() const {
    if (first_thrown_) std::rethrow_exception(first_thrown_);
  }

 private:
  void require_all_alive() const {
    if (failed_) throw error(failure::resources, *failed_);
  }
  void fail(std::string why) {
    if (!failed_) failed_ = std::move(why);
    changed_.notify_all();
  }
  [[noreturn]] void give_up(const char* what) {
    std::string names;
    for (std::size_t r = 0; r < size(); ++r) {
      if (here_[r]) continue;
      names += (names.empty() ? "" : ", ") + name_of(static_cast<int>(r), size());
    }
    fail(
        fmt::format("{} did not come to {} within {} s (--wait-limit); it hangs or is far slower "
                    "than the others. What is finished is kept: continue with --resume",
                    names, what, limit_s_));
    throw error(failure::resources, *failed_);
  }

  const double limit_s_;
  std::mutex guard_;
  std::condition_variable changed_;
  std::vector<bool> here_;  // by rank: it waits for the others
  std::uint64_t meetings_ = 0;
  std::optional<std::string> failed_;
  std::exception_ptr first_thrown_;
  std::vector<open_buffers> open_;  // by rank
};

class thread_communicator final : public communicator {
 public:
  thread_communicator(meeting_place& place, int rank)
      : place_(place),
        rank_(rank),
        threads_(std::max(1, static_cast<int>(std::thread::hardware_concurrency()) /
                                 static_cast<int>(place.size()))) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(place_.size()); }
  int local_rank() const override { return rank(); }
  int local_size() const override { return size(); }
  int process_size() const override { return size(); }
  double wait_limit_s() const override { return place_.limit_s(); }
  std::string name(int rank) const override { return name_of(rank, place_.size()); }

  void meet() override { place_.meet(rank_, "a meeting"); }

  void broadcast(std::span<std::byte> bytes) override {
    open({.bytes = bytes}, "a broadcast", [&] {
      if (rank_ == 0) return;
      runtime::copy_by_threads(bytes.data(), place_.of(0).bytes.data(), bytes.size(), threads_);
    });
  }

  std::vector<std::string> gather(const std::string& text) override {
    std::vector<std::string> texts;
    open({.text = &text}, "a gathering", [&] {
      for (int r = 0; rank_ == 0 && r < size(); ++r) texts.push_back(*place_.of(r).text);
    });
    return texts;
  }

  void exchange(std::span<const column> columns, std::span<const std::int64_t> rows) override {
    open({.columns = columns}, "an exchange", [&] {
      const std::int64_t count = rows[static_cast<std::size_t>(rank_)];
      std::int64_t first = 0;
      for (int r = 0; r < rank_; ++r) first += rows[static_cast<std::size_t>(r)];
      std::vector<runtime::moved_bytes> pieces;
      for (int r = 0; r < size(); ++r) add(pieces, r, columns, first, count, r * count);
      runtime::copy_by_threads(pieces, threads_);
    });
  }

  void collect(std::span<const column> columns, std::span<const std::int64_t> rows) override {
    open({.columns = columns}, "a collection", [&] {
      if (rank_ != 0) return;
      std::vector<runtime::moved_bytes> pieces;
      std::int64_t to = 0;
      for (int r = 0; r < size(); ++r) {
        const std::int64_t count = rows[static_cast<std::size_t>(r)];
        add(pieces, r, columns, 0, count, to);
        to += count;
      }
      runtime::copy_by_threads(pieces, threads_);
    });
  }

  [[noreturn]] void abort(int code) override {
    std::fflush(nullptr);
    std::_Exit(code);
  }

 private:
  template <class Work>
  void open(const open_buffers& mine, const char* what, const Work& work) {
    place_.of(rank_) = mine;
    place_.meet(rank_, what);
    work();
    place_.meet(rank_, what);
  }

  // Adds `count` rows that rank `from` sends, from row `first` on, which go to this rank's
  // `receive`, row `to` on.
  void add(std::vector<runtime::moved_bytes>& pieces, int from, std::span<const column> columns,
           std::int64_t first, std::int64_t count, std::int64_t to) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto bytes = [&](std::int64_t rows) {
        return static_cast<std::size_t>(rows) * columns[c].row_bytes;
      };
      pieces.push_back({columns[c].receive.data() + bytes(to),
                        place_.of(from).columns[c].send.data() + bytes(first), bytes(count)});
    }
  }

  meeting_place& place_;
  int rank_;
  int threads_;  // for copies
};

}  // namespace

void run_ranks(int size, double wait_limit_s, const std::function<void(communicator&)>& body) {
  meeting_place place(size, wait_limit_s);
  const auto run = [&](int rank) {
    try {
      thread_communicator mine(place, rank);
      body(mine);
    } catch (...) {
      place.leave(rank, std::current_exception());
    }
  };
  {
    std::vector<std::jthread> others;
    for (int rank = 1; rank < size; ++rank) others.emplace_back(run, rank);
    run(0);
  }
  place.rethrow();
}

}  // namespace kselect::search
