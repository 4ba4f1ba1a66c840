#pragma once
// The parent's side of a worker process, which is this program started once more. Both sides
// exchange lines of JSON over a socket; harness/run/worker.hpp is the other side.

#include <optional>
#include <string>
#include <sys/types.h>

#include "harness/run/lines.hpp"
#include "harness/run/progress_page.hpp"

namespace kselect::harness {

inline constexpr double quiet_limit_s = 3;
// A worker that ends closes its socket and is gone soon after, unless it writes a core file.
inline constexpr double closing_limit_s = 10;

class worker_process {
 public:
  // Throws error(failure::resources) when no process can be made.
  worker_process();
  // Kills the worker.
  ~worker_process();
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;

  // If the worker is gone, the following next() reports it.
  void send(const std::string& line) { lines_->write(line); }

  enum class news { line, ended, hung };
  // Waits for a line, the process's end, or a worker that hangs: a run that has lasted `limit_s`;
  // or, whatever it says of itself, no sign of life for as long (at least quiet_limit_s): no line,
  // no other run, no processor time. A stopped or blocked worker shows none.
  news next(std::string& line, double limit_s);

  // The cell that the progress page names, and how long it has run.
  progress_page::state state() const { return page_.now(); }
  // The cell that the page named before next() last received something. A worker leaves a cell only
  // when all that was sent meanwhile is received, so this cell sent it.
  std::int32_t sender() const { return sender_; }
  // How the process ended, after next() returned `ended`: "killed by SIGSEGV (Segmentation fault)".
  // A worker that closed its socket and lives on is killed after closing_limit_s.
  std::string cause();
  void kill();

 private:
  // Waits at most so long for the end of the process. False if it did not end.
  bool reap_within(double seconds);
  // Seconds of processor time that it has used; as before if that cannot be told.
  double processor_seconds() const;

  progress_page page_;
  pid_t process_ = -1;
  int socket_ = -1;
  std::optional<line_socket> lines_;  // on socket_
  int wait_status_ = 0;
  std::int32_t sender_ = -1;
};

}  // namespace kselect::harness
