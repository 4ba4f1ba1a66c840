// The communicator over MPI: non-blocking calls that are polled, so that every wait has an end.
//
// Before a call that ranks reach at different times (a gathering, an exchange), they report to
// rank 0 and wait for its reply. If a rank does not come within the limit, rank 0 knows which one;
// the others know only that rank 0 did not reply. So they wait longer than rank 0 ever does: it
// waits twice the limit within a call, then once more for words of the ranks that are stuck. If a
// rank dies, mpirun notices sooner and ends the others.

#include "search/exchange/communicator.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <limits>
#include <mpi.h>
#include <numeric>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/error.hpp"
#include "search/exchange/mpi_module.hpp"
#include "search/search.hpp"

namespace kselect::search {
namespace {

using steady = std::chrono::steady_clock;

constexpr int tag_here = 1, tag_go = 2, tag_stuck = 3;
// The most bytes of one call: MPI counts with int.
constexpr std::size_t piece_bytes = std::size_t{1} << 30;

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return {name.data(), static_cast<std::size_t>(length)};
}

// Waits until mpirun, which forwards it, has read what this process wrote to its standard error.
// On a loaded machine that takes longer than the pause after it.
void wait_until_read() {
  const auto begin = steady::now();
  int unread = 0;
  while (ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0 &&
         steady::now() - begin < std::chrono::seconds(10)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// A row as an MPI data type: a count of rows fits an int where one of bytes may not.
class row_type {
 public:
  explicit row_type(std::size_t bytes) {
    MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  row_type(const row_type&) = delete;
  row_type& operator=(const row_type&) = delete;
  ~row_type() { MPI_Type_free(&type_); }
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_{};
};

struct layout {
  std::vector<int> counts, offsets;
};

layout layout_of(std::span<const std::int64_t> rows) {
  layout all;
  std::int64_t offset = 0;
  for (const std::int64_t count : rows) {
    all.counts.push_back(static_cast<int>(count));
    all.offsets.push_back(static_cast<int>(offset));
    offset += count;
  }
  if (offset > std::numeric_limits<int>::max()) {
    throw error(failure::resources,
                "a tile has more queries than MPI counts (2^31); use "
                "--query-tile");
  }
  return all;
}

class mpi_communicator final : public communicator {
 public:
  explicit mpi_communicator(double limit_s) : limit_(limit_s) {
    // MPI_Init and MPI_Finalize cannot be polled. The alarm ends this process, mpirun the others.
    alarm(static_cast<unsigned>(2 * limit_s));
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &thread_level_);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm machine{};
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &local_rank_);
    MPI_Comm_size(machine, &local_size_);
    MPI_Comm_free(&machine);
    alarm(0);
    host_ = host_name();
    hosts_ = gather(host_);
  }
  ~mpi_communicator() override {
    alarm(static_cast<unsigned>(2 * limit_));
    MPI_Finalize();
    alarm(0);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }
  bool any_thread() const override { return thread_level_ >= MPI_THREAD_SERIALIZED; }
  double wait_limit_s() const override { return limit_; }
  std::string name(int rank) const override {
    const auto at = static_cast<std::size_t>(rank);
    const std::string host = rank == rank_ ? host_ : at < hosts_.size() ? hosts_[at] : "";
    return fmt::format("rank {} of {}{}", rank, size_, host.empty() ? "" : " (" + host + ")");
  }

  void meet() override { meet("a meeting"); }

  void broadcast(std::span<std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto now = bytes.first(std::min(bytes.size(), piece_bytes));
      MPI_Request request{};
      MPI_Ibcast(now.data(), static_cast<int>(now.size()), MPI_BYTE, 0, MPI_COMM_WORLD, &request);
      finish(request, "a broadcast");
      bytes = bytes.subspan(now.size());
    }
  }

  std::vector<std::string> gather(const std::string& text) override {
    meet("a gathering");
    const int length = static_cast<int>(text.size());
    const bool root = rank_ == 0;
    std::vector<int> lengths(root ? static_cast<std::size_t>(size_) : 0);
    MPI_Request request{};
    MPI_Igather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    finish(request, "a gathering");
    std::vector<int> offsets(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
    std::string all(root ? static_cast<std::size_t>(offsets.back() + lengths.back()) : 0, ' ');
    MPI_Igatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(),
                 MPI_CHAR, 0, MPI_COMM_WORLD, &request);
    finish(request, "a gathering");
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < lengths.size(); ++r) {
      texts.push_back(
          all.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(lengths[r])));
    }
    return texts;
  }

  void exchange(std::span<const column> columns, std::span<const std::int64_t> rows) override {
    meet("an exchange");
    const std::vector<std::int64_t> from_each(static_cast<std::size_t>(size_),
                                              rows[static_cast<std::size_t>(rank_)]);
    const layout out = layout_of(rows), in = layout_of(from_each);
    for (const column& c : columns) {
      const row_type row(c.row_bytes);
      MPI_Request request{};
      MPI_Ialltoallv(c.send.data(), out.counts.data(), out.offsets.data(), row.get(),
                     c.receive.data(), in.counts.data(), in.offsets.data(), row.get(),
                     MPI_COMM_WORLD, &request);
      finish(request, "an exchange");
    }
  }

  void collect(std::span<const column> columns, std::span<const std::int64_t> rows) override {
    const layout in = layout_of(rows);
    for (const column& c : columns) {
      const row_type row(c.row_bytes);
      MPI_Request request{};
      MPI_Igatherv(c.send.data(), in.counts[static_cast<std::size_t>(rank_)], row.get(),
                   c.receive.data(), in.counts.data(), in.offsets.data(), row.get(), 0,
                   MPI_COMM_WORLD, &request);
      finish(request, "a collection");
    }
  }

  [[noreturn]] void abort(int code) override {
    std::fflush(nullptr);
    // Lets the last output pass through mpirun, which stops listening once a rank dies.
    wait_until_read();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  // Polls `done`. The first polls do not pause; later ones sleep, because the awaited rank may
  // share this processor. Returns false if the limit has passed.
  template <class Done>
  bool within(double limit_s, const Done& done) {
    const auto begin = steady::now();
    for (int turn = 0; !done(); ++turn) {
      const std::chrono::duration<double> waited = steady::now() - begin;
      if (waited.count() > limit_s) return done();  // this process may have been stopped
      if (turn > 10) std::this_thread::sleep_for(std::chrono::microseconds(turn < 1000 ? 50 : 500));
    }
    return true;
  }

  // Whether the call has ended. It also lets MPI go on with it.
  static bool tested(MPI_Request& request) {
    int flag = 0;
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }

  [[noreturn]] void give_up(const std::string& who, const char* what) {
    const std::string text = fmt::format(
        "kselect: {}: {} did not come to {} within {} s (--wait-limit); it hangs or is far slower "
        "than the others. What is finished is kept: continue with --resume\n",
        name(rank_), who, what, limit_);
    std::fputs(text.c_str(), stderr);
    abort(static_cast<int>(failure::resources));
  }

  void finish(MPI_Request& request, const char* what) {
    if (!within(2 * limit_, [&] { return tested(request); })) give_up(silent_ranks(), what);
  }

  // The names of the ranks that stopped answering within a call that all had entered. The other
  // ranks tell rank 0 that they are stuck there, or report to the next meeting. Rank 0 then names
  // the silent ones and ends the job. A rank that is not ended by then names rank 0.
  std::string silent_ranks() {
    if (rank_ != 0) {
      MPI_Request word{};
      MPI_Isend(nullptr, 0, MPI_BYTE, 0, tag_stuck, MPI_COMM_WORLD, &word);
      within(2 * limit_, [&] {
        tested(word);
        return false;
      });
      return name(0);
    }
    std::vector<MPI_Request> stuck = receive_from_all(tag_stuck), here = receive_from_all(tag_here);
    std::string silent;
    within(limit_, [&] {
      silent = missing(stuck, here);
      return silent.empty();
    });
    return silent.empty() ? "another rank" : silent;
  }

  std::vector<MPI_Request> receive_from_all(int tag) {
    std::vector<MPI_Request> requests(static_cast<std::size_t>(size_ - 1));
    for (int r = 1; r < size_; ++r) {
      MPI_Irecv(nullptr, 0, MPI_BYTE, r, tag, MPI_COMM_WORLD,
                &requests[static_cast<std::size_t>(r - 1)]);
    }
    return requests;
  }

  bool come_within(double limit_s, std::vector<MPI_Request>& requests) {
    return within(limit_s, [&] {
      int flag = 0;
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &flag, MPI_STATUSES_IGNORE);
      return flag != 0;
    });
  }

  void meet(const char* what) {
    if (size_ == 1) return;
    rank_ == 0 ? await_all(what) : await_word(what);
  }

  void await_all(const char* what) {
    std::vector<MPI_Request> requests = receive_from_all(tag_here);
    if (!come_within(limit_, requests)) give_up(missing(requests), what);
    for (int r = 1; r < size_; ++r) {
      MPI_Isend(nullptr, 0, MPI_BYTE, r, tag_go, MPI_COMM_WORLD,
                &requests[static_cast<std::size_t>(r - 1)]);
    }
    for (MPI_Request& request : requests) finish(request, what);
  }

  // The names of the ranks of which no word has come, neither in `words` nor in `others`.
  std::string missing(std::span<MPI_Request> words, std::span<MPI_Request> others = {}) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (tested(words[i]) || (!others.empty() && tested(others[i]))) continue;
      names.push_back(name(static_cast<int>(i) + 1));
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  void await_word(const char* what) {
    MPI_Request here{}, go{};
    MPI_Isend(nullptr, 0, MPI_BYTE, 0, tag_here, MPI_COMM_WORLD, &here);
    MPI_Irecv(nullptr, 0, MPI_BYTE, 0, tag_go, MPI_COMM_WORLD, &go);
    // Rank 0 may be in the call before this meeting.
    if (!within(4 * limit_, [&] { return tested(here) && tested(go); })) give_up(name(0), what);
  }

  double limit_;
  int thread_level_ = MPI_THREAD_SINGLE;
  int rank_ = 0, size_ = 1;
  int local_rank_ = 0, local_size_ = 1;
  std::string host_;
  std::vector<std::string> hosts_;  // on rank 0
};

}  // namespace
}  // namespace kselect::search

extern "C" kselect::search::communicator* kselect_open_mpi(double wait_limit_s) {
  return new kselect::search::mpi_communicator(wait_limit_s);
}
