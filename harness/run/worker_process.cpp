#include "harness/run/worker_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <limits>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "harness/harness.hpp"
#include "harness/run/worker.hpp"
#include "runtime/error.hpp"

extern char** environ;

namespace kselect::harness {
namespace {

constexpr int poll_ms = 100;

[[noreturn]] void fail(const char* what, int code) {
  throw error(failure::resources,
              fmt::format("cannot start a worker process: {}: {}", what, std::strerror(code)));
}

// Starts this program again with the argument "worker", its descriptors where worker.hpp expects
// them.
pid_t spawn(int socket, int page) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // An algorithm's output must not mix with the program's results.
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, worker_socket);
  posix_spawn_file_actions_adddup2(&actions, page, worker_page);
  // Own process group: Ctrl-C on the terminal reaches the parent, which lets the worker finish.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::string name = "kselect", argument{worker_command};
  const std::array<char*, 3> arguments = {name.data(), argument.data(), nullptr};
  pid_t process = -1;
  const int code =
      posix_spawn(&process, "/proc/self/exe", &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (code != 0) fail("posix_spawn", code);
  return process;
}

}  // namespace

worker_process::worker_process() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail("socketpair", errno);
  socket_ = ends[0];
  lines_.emplace(socket_);
  // Numbers that the worker's descriptors (worker.hpp) do not overwrite.
  const int far_end = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
  const int far_page = fcntl(page_.descriptor(), F_DUPFD_CLOEXEC, 10);
  close(ends[1]);
  if (far_end < 0 || far_page < 0) fail("fcntl", errno);
  process_ = spawn(far_end, far_page);
  close(far_end);
  close(far_page);
}

worker_process::~worker_process() {
  kill();
  close(socket_);
}

double worker_process::processor_seconds() const {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(process_, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

worker_process::news worker_process::next(std::string& line, double limit_s) {
  using clock = std::chrono::steady_clock;
  auto last_sign = clock::now();
  double used = processor_seconds();
  std::int32_t cell = -1;
  for (;;) {
    if (auto whole = lines_->next()) {
      line = std::move(*whole);
      return news::line;
    }
    pollfd waiting{socket_, POLLIN, 0};
    const int ready = poll(&waiting, 1, poll_ms);
    if (ready > 0) {
      sender_ = state().cell;
      if (!lines_->receive()) return news::ended;
      continue;
    }
    const auto run = state();
    if (run.cell >= 0 && run.seconds > limit_s) return news::hung;
    const double now_used = processor_seconds();
    if (now_used != used || run.cell != cell) last_sign = clock::now();
    used = now_used;
    cell = run.cell;
    const std::chrono::duration<double> quiet = clock::now() - last_sign;
    if (quiet.count() > std::max(limit_s, quiet_limit_s)) return news::hung;
  }
}

bool worker_process::reap_within(double seconds) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  auto pause = std::chrono::microseconds(100);
  while (process_ >= 0) {
    const pid_t ended = waitpid(process_, &wait_status_, WNOHANG);
    if (ended == process_ || (ended < 0 && errno != EINTR)) {
      process_ = -1;
    } else if (std::chrono::duration<double>(clock::now() - begin).count() > seconds) {
      return false;
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min<std::chrono::microseconds>(2 * pause, std::chrono::milliseconds(10));
    }
  }
  return true;
}

void worker_process::kill() {
  if (process_ >= 0) ::kill(process_, SIGKILL);
  reap_within(std::numeric_limits<double>::infinity());
}

std::string worker_process::cause() {
  if (!reap_within(closing_limit_s)) {
    kill();
    return "killed, because it had closed its connection and did not end";
  }
  if (WIFSIGNALED(wait_status_)) {
    const int signal = WTERMSIG(wait_status_);
    return fmt::format("killed by SIG{} ({})", sigabbrev_np(signal), sigdescr_np(signal));
  }
  return fmt::format("exited with code {}", WEXITSTATUS(wait_status_));
}

}  // namespace kselect::harness
