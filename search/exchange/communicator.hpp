#pragma once
// What the ranks of one job say to each other: few verbs, so that MPI between processes, or the
// memory of one process between its threads, can be behind them, and one process alone needs
// neither.
//
// Every call is collective: all ranks make the same calls in the same order. Each waits for the
// others at most as long as the communicator was opened with, then ends the job and names who did
// not come; no call hangs.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kselect::search {

class communicator {
 public:
  communicator() = default;
  communicator(const communicator&) = delete;
  communicator& operator=(const communicator&) = delete;
  virtual ~communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Which of the ranks of this machine this is, and how many they are: who shares its GPUs and
  // processors with whom.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  // How many ranks are threads of this process, and share its memory.
  virtual int process_size() const { return 1; }
  // How long a call may wait for another rank.
  virtual double wait_limit_s() const = 0;
  // "rank 1 of 3 (host)"
  virtual std::string name(int rank) const = 0;

  // Returns when all ranks are here.
  virtual void meet() = 0;
  // Rank 0's bytes on all.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  // A text of each rank on rank 0, by rank; empty elsewhere.
  virtual std::vector<std::string> gather(const std::string& text) = 0;
  // A table in columns, whose rows move alike; a row of a column has `row_bytes` bytes.
  struct column {
    std::size_t row_bytes;
    std::span<const std::byte> send;
    std::span<std::byte> receive;
  };
  // Rank r gets rows[r] rows of every rank's `send`, where they lie in the order of the ranks, and
  // has them in `receive` in that order: size() times rows[rank()].
  virtual void exchange(std::span<const column> columns, std::span<const std::int64_t> rows) = 0;
  // Rank 0 gets rows[r] rows of each rank r, in their order.
  virtual void collect(std::span<const column> columns, std::span<const std::int64_t> rows) = 0;

  // Ends all ranks of the job at once with this exit code.
  [[noreturn]] virtual void abort(int code) = 0;
};

// One process alone.
std::unique_ptr<communicator> alone();

// Runs `body` on each of `size` ranks, which are threads of this process, rank 0 the calling one;
// returns when all have ended. What a body throws first is thrown here; and the calls in which
// others wait for that rank throw error(failure::resources) that names it, as does a call for which
// a rank did not come within the limit. A body that never returns is not ended: whoever cannot wait
// for it calls abort().
void run_ranks(int size, double wait_limit_s, const std::function<void(communicator&)>& body);

// Whether this process was started as one of several by mpirun, srun or their like.
bool started_among_ranks();

// Through MPI. The library is loaded by this call alone: it lives in a module of its own beside the
// program (kselect_mpi.so), so that the program runs where there is no MPI. Throws
// error(failure::unsupported) where the module was not built or cannot be loaded.
std::unique_ptr<communicator> open_mpi(double wait_limit_s);

}  // namespace kselect::search
