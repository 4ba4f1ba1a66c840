#include "runtime/io/isolated_reader.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "runtime/io/readers.hpp"

namespace kselect::runtime {
namespace {

// The longest message of a child. A pipe holds so much without a reader.
constexpr std::size_t longest_message = 4096;

void write_or_exit(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) _exit(static_cast<int>(failure::output));  // nobody reads any more
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

// Faults end the child at once, whatever handlers the program has.
void limit_this_process(int seconds) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU}) {
    std::signal(fault, SIG_DFL);
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const auto most = static_cast<rlim_t>(seconds);
  const rlimit processor{most, most + 1};
  setrlimit(RLIMIT_CPU, &processor);
}

[[noreturn]] void be_the_child(int out, int message, int seconds,
                               const std::function<void(const isolated_reader::results&)>& work) {
  limit_this_process(seconds);
  const auto refuse = [&](failure category, std::string_view why) {
    write_or_exit(message, std::as_bytes(std::span(why.substr(0, longest_message))));
    _exit(static_cast<int>(category));
  };
  try {
    work([out](std::span<const std::byte> bytes) { write_or_exit(out, bytes); });
  } catch (const error& wrong) {
    refuse(wrong.category(), wrong.what());
  } catch (const std::bad_alloc&) {
    refuse(failure::resources, "");
  } catch (const std::exception& wrong) {
    refuse(failure::input, wrong.what());
  }
  _exit(0);
}

// Up to out.size() bytes; fewer at the end.
std::size_t read_all(int descriptor, std::span<std::byte> out) {
  std::size_t held = 0;
  while (held < out.size()) {
    const ssize_t got = ::read(descriptor, out.data() + held, out.size() - held);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    held += static_cast<std::size_t>(got);
  }
  return held;
}

int end_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

isolated_reader::isolated_reader(const char* library, std::filesystem::path file, int seconds,
                                 const std::function<void(const results&)>& work)
    : library_(library), file_(std::move(file)) {
  std::array<int, 2> data{-1, -1}, message{-1, -1};
  if (pipe2(data.data(), O_CLOEXEC) == 0 && pipe2(message.data(), O_CLOEXEC) == 0) {
    child_ = fork();
  }
  if (child_ == 0) be_the_child(data[1], message[1], seconds, work);
  const int code = errno;
  for (const int mine : {data[1], message[1]}) {
    if (mine >= 0) close(mine);
  }
  results_ = data[0];
  message_ = message[0];
  if (child_ > 0) return;
  for (const int mine : {results_, message_}) {
    if (mine >= 0) close(mine);
  }
  throw error(failure::resources, fmt::format("{}: no process can be started to read it: {}",
                                              file_.string(), std::strerror(code)));
}

isolated_reader::~isolated_reader() {
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    end_of(child_);
  }
  close(results_);
  close(message_);
}

void isolated_reader::read(std::span<std::byte> out) {
  if (read_all(results_, out) != out.size()) fail();
}

void isolated_reader::fail() {
  std::string text(longest_message, '\0');
  text.resize(read_all(message_, std::as_writable_bytes(std::span(text))));
  const int status = end_of(std::exchange(child_, -1));
  if (WIFEXITED(status)) {
    const auto category = static_cast<failure>(WEXITSTATUS(status));
    if (category == failure::resources && text.empty()) {
      throw error(category, fmt::format("{}: needs more memory than there is", file_.string()));
    }
    if (category != failure{} && !text.empty()) throw error(category, text);
    fail_input(file_, fmt::format("holds less than {} said", library_));
  }
  const int signal = WTERMSIG(status);
  if (signal == SIGXCPU || signal == SIGKILL) {
    fail_input(file_, fmt::format("keeps {} busy without an end; the file is damaged", library_));
  }
  fail_input(file_, fmt::format("makes {} crash (SIG{}); the file is damaged", library_,
                                sigabbrev_np(signal)));
}

}  // namespace kselect::runtime
