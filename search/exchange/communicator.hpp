#pragma once
// Communication between the ranks of one job. The verbs are few, so that three implementations
// serve them: MPI between processes, shared memory between threads, and a single process alone.
//
// Every call is collective: all ranks make the same calls in the same order. A call waits for the
// other ranks wait_limit_s(), and over MPI at most four times as long (mpi/communicator.cpp). Then
// it ends the job and names the missing ranks. No call hangs.

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
  // The rank's number among the ranks on this machine, and how many these are. They share its GPUs
  // and processors.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  // The number of ranks that are threads of this process and share its memory.
  virtual int process_size() const { return 1; }
  // Whether any thread of the rank may make the next call; else only the one that opened this.
  // Never two at a time.
  virtual bool any_thread() const { return true; }
  // How long a call waits for another rank, as said above.
  virtual double wait_limit_s() const = 0;
  // "rank 1 of 3 (host)"
  virtual std::string name(int rank) const = 0;

  // A barrier: returns when all ranks have called it.
  virtual void meet() = 0;
  // Copies rank 0's bytes to all ranks.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  // On rank 0, the texts of all ranks, by rank; elsewhere empty.
  virtual std::vector<std::string> gather(const std::string& text) = 0;
  // A column of a table. Calls move the same rows of all columns. A row has `row_bytes` bytes.
  struct column {
    std::size_t row_bytes;
    std::span<const std::byte> send;
    std::span<std::byte> receive;
  };
  // All-to-all. Every rank's `send` has rows[0] rows for rank 0, then rows[1] for rank 1, and so
  // on. `receive` gets size() * rows[rank()] rows, by sending rank.
  virtual void exchange(std::span<const column> columns, std::span<const std::int64_t> rows) = 0;
  // Gathers rows[r] rows from each rank r on rank 0, by rank.
  virtual void collect(std::span<const column> columns, std::span<const std::int64_t> rows) = 0;

  // Ends all ranks of the job at once with this exit code.
  [[noreturn]] virtual void abort(int code) = 0;
};

// One process alone.
std::unique_ptr<communicator> alone();

// Runs `body` on `size` ranks, which are threads of this process; the calling thread is rank 0.
// Returns when all have ended, and rethrows the first exception of a body. If a rank throws or does
// not come within the limit, the calls in which others wait for it throw error(failure::resources)
// that names it. A body that never returns is not ended: a rank that cannot wait for it calls
// abort().
void run_ranks(int size, double wait_limit_s, const std::function<void(communicator&)>& body);

// Whether this process was started as one of several by mpirun, srun or their like.
bool started_among_ranks();

// The ranks of an MPI job. Only this call loads MPI: a module beside the program (kselect_mpi.so)
// links it, so that the program also runs without MPI. Throws error(failure::unsupported) if the
// module was not built or cannot be loaded.
std::unique_ptr<communicator> open_mpi(double wait_limit_s);

}  // namespace kselect::search
