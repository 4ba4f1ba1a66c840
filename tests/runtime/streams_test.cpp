// Closed and unwritable standard streams.

#include "runtime/streams.hpp"

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/error.hpp"

namespace kselect::runtime {
namespace {

// The exit code of `action` in a process of its own, which may close what it likes.
template <class Action>
int in_a_process(const Action& action) {
  const pid_t child = fork();
  if (child == 0) _exit(action());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Streams, ClosedDescriptorsAreTakenBeforeAFileGetsTheirNumbers) {
  EXPECT_EQ(in_a_process([] {
              for (const int descriptor : {0, 1, 2}) close(descriptor);
              reserve_standard_descriptors();
              const int next = open("/dev/null", O_RDWR);
              const bool refused = write(1, "x", 1) < 0;
              const bool dropped = write(2, "x", 1) == 1;
              return next > 2 && refused && dropped ? 0 : 1;
            }),
            0);
}

TEST(Streams, AMessageThatNobodyReadsIsLost) {
  EXPECT_EQ(in_a_process([] {
              int ends[2];
              if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) return 1;
              close(ends[0]);
              for (int i = 0; i < 3; ++i) write_message("nobody is there\n");
              sigset_t pending, blocked;
              sigpending(&pending);
              pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
              return sigismember(&pending, SIGPIPE) + sigismember(&blocked, SIGPIPE);
            }),
            0);
}

TEST(Streams, LostOutputIsAnErrorAndALostMessageIsNot) {
  EXPECT_EQ(in_a_process([] {
              const int full = open("/dev/full", O_WRONLY);
              dup2(full, 1);
              dup2(full, 2);
              print_message("{}\n", "lost");
              std::fputs("lost, too\n", stdout);
              try {
                finish_standard_output();
              } catch (const error& lost) {
                return lost.exit_code();
              }
              return 0;
            }),
            static_cast<int>(failure::output));
}

TEST(Streams, OneLineHasNoControlCharacter) {
  EXPECT_EQ(one_line("a\nb\x1b[2Jc\td\x7f\xc3\xa9"), "a\\nb\\x1b[2Jc\\x09d\\x7f\xc3\xa9");
}

}  // namespace
}  // namespace kselect::runtime
