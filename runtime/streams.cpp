#include "runtime/streams.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include "runtime/error.hpp"

namespace kselect::runtime {
namespace {

// While it lives, this thread's writes to a pipe without a reader fail and end no process.
class without_broken_pipe {
 public:
  without_broken_pipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    pended_ = sigismember(&pending, SIGPIPE) != 0;
    pthread_sigmask(SIG_BLOCK, &pipe_, &old_);
  }
  without_broken_pipe(const without_broken_pipe&) = delete;
  without_broken_pipe& operator=(const without_broken_pipe&) = delete;
  ~without_broken_pipe() {
    constexpr timespec no_time{};
    while (!pended_ && sigtimedwait(&pipe_, nullptr, &no_time) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }

 private:
  sigset_t pipe_{}, old_{};
  bool pended_ = false;  // a signal of somebody else's
};

}  // namespace

void reserve_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number, which is this one. Read-only in place of stdout: results that nobody
    // gets are an error.
    const int flags = descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", flags) != descriptor) std::_Exit(static_cast<int>(failure::output));
  }
}

void write_message(std::string_view text) {
  const without_broken_pipe guard;
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  std::clearerr(stderr);
}

void finish_standard_output() {
  const bool lost_before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !lost_before) return;
  const int reason = errno;
  throw error(failure::output,
              fmt::format("standard output cannot be written{}{}", reason == 0 ? "" : ": ",
                          reason == 0 ? "" : std::strerror(reason)));
}

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace kselect::runtime
