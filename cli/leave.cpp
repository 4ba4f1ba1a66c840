#include "cli/leave.hpp"

#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/error.hpp"
#include "runtime/streams.hpp"

namespace kselect::cli {
namespace {

// A process that was forked from this one has its own end.
pid_t watched = 0;
bool working = false;

bool address_space_is_limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void at_exit(int code, void* /*argument*/) {
  if (getpid() != watched) return;
  if (working && code == EXIT_FAILURE) {
    runtime::write_message(
        "kselect: OpenMP found too little memory or too few threads; lower --threads, or raise "
        "`ulimit -v` or `ulimit -u`\n");
    _exit(static_cast<int>(runtime::failure::resources));
  }
  if (!address_space_is_limited()) return;
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace

void watch_exit() {
  watched = getpid();
  working = on_exit(at_exit, nullptr) == 0;
}

void work_is_done() { working = false; }

}  // namespace kselect::cli
