// Outputs that collide, and outputs that another job writes.

#include "runtime/io/job_files.hpp"

#include <array>
#include <csignal>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/io/atomic_file.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::runtime {
namespace {

using input_files::folder;
using input_files::message_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void hold(const std::vector<named_file>& inputs, const std::vector<named_file>& outputs) {
  const job_files held(inputs, outputs);
}

TEST(JobFiles, NoTwoAreTheSameFileByWhateverName) {
  const folder at;
  at.write("base", "b");
  std::filesystem::create_symlink(at / "base", at / "link");
  std::filesystem::create_hard_link(at / "base", at / "hard");
  for (const char* const name : {"base", "link", "hard", "./base"}) {
    EXPECT_THAT(message_of(
                    [&] {
                      hold({{"--base", at / "base"}}, {{"--indices", at / name}});
                    },
                    failure::usage),
                HasSubstr("--indices and --base are the same file"));
  }
  std::filesystem::create_directory(at / "sub");
  for (const char* const name : {"new", "sub/../new"}) {
    EXPECT_THAT(message_of(
                    [&] {
                      hold({}, {{"--indices", at / "new"}, {"--distances", at / name}});
                    },
                    failure::usage),
                HasSubstr("--indices and --distances are the same file"));
  }
  std::filesystem::create_symlink(at / "new", at / "dangling");
  EXPECT_THAT(message_of(
                  [&] {
                    hold({}, {{"--indices", at / "new"}, {"--distances", at / "dangling"}});
                  },
                  failure::usage),
              HasSubstr("--indices and --distances are the same file"));
  hold({{"--base", at / "base"}, {"--query", ""}}, {{"--indices", ""}, {"--distances", ""}});
}

TEST(JobFiles, AnOutputHasOneWriter) {
  const folder at;
  {
    const std::array<named_file, 2> outputs = {
        {{"--indices", at / "i"}, {"--distances", at / "d"}}};
    const job_files held({}, outputs);
    EXPECT_THAT(message_of(
                    [&] {
                      hold({}, {{"--indices", at / "x"}, {"--record", at / "d"}});
                    },
                    failure::output),
                HasSubstr("d: another job writes it"));
  }
  hold({}, {{"--indices", at / "i"}, {"--distances", at / "d"}});
  EXPECT_THAT(at.listing(), IsEmpty());
  std::filesystem::create_symlink("i", at / "link");
  const std::array<named_file, 1> linked = {{{"--indices", at / "link"}}};
  const job_files held({}, linked);
  EXPECT_THAT(message_of(
                  [&] {
                    hold({}, {{"--indices", at / "i"}});
                  },
                  failure::output),
              HasSubstr("i: another job writes it"));
}

TEST(JobFiles, ALockThatIsNotOursStays) {
  const folder at;
  at.write("precious", "data");
  at.write(".d.lock", "data");
  std::filesystem::create_symlink(at / "precious", at / ".i.lock");
  for (const char* const name : {"i", "d"}) {
    message_of([&] { hold({}, {{"--indices", at / name}}); }, failure::output);
  }
  EXPECT_EQ(input_files::read_file(at / "precious"), "data");
  EXPECT_EQ(input_files::read_file(at / ".d.lock"), "data");
}

TEST(JobFiles, ASignalLeavesNothingBehind) {
  const folder at;
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t child = fork();
    if (child == 0) {
      const std::array<named_file, 1> outputs = {{{"--indices", at / "i"}}};
      const job_files held({}, outputs);
      atomic_file file(at / "i");
      raise(signal);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    EXPECT_THAT(at.listing(), IsEmpty());
  }
}

}  // namespace
}  // namespace kselect::runtime
