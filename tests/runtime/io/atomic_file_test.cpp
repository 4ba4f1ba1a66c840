// A target keeps its old content until commit(), and no failure leaves files behind.

#include "runtime/io/atomic_file.hpp"

#include <csignal>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/runtime/io/input_files.hpp"

namespace kselect::runtime {
namespace {

using input_files::folder;
using input_files::message_of;
using input_files::read_file;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// During its lifetime no file may grow beyond this size. This imitates a full disk.
class file_size_limit {
 public:
  explicit file_size_limit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  file_size_limit(const file_size_limit&) = delete;
  file_size_limit& operator=(const file_size_limit&) = delete;
  ~file_size_limit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_ = {};
};

TEST(AtomicFile, AppearsAtCommit) {
  const folder scratch;
  atomic_file file(scratch / "x");
  file.write(bytes_of("ab"));
  file.write(bytes_of("cd"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "x"));
  file.commit();
  EXPECT_EQ(read_file(scratch / "x"), "abcd");
  EXPECT_THAT(scratch.listing(), ElementsAre("x"));
}

TEST(AtomicFile, ReplacesAFileAtCommit) {
  const folder scratch;
  scratch.write("x", "before");
  atomic_file file(scratch / "x");
  file.write(bytes_of("after"));
  EXPECT_EQ(read_file(scratch / "x"), "before");
  file.commit();
  EXPECT_EQ(read_file(scratch / "x"), "after");
}

TEST(AtomicFile, WritesTheFileThatALinkNames) {
  const folder scratch;
  std::filesystem::create_directory(scratch / "far");
  scratch.write("far/old", "before");
  std::filesystem::create_symlink("far/old", scratch / "old");
  std::filesystem::create_symlink("far/new", scratch / "new");  // names no file yet
  std::filesystem::create_symlink(scratch / "new", scratch / "twice");
  for (const char* const name : {"old", "new", "twice"}) {
    atomic_file file(scratch / name);
    file.write(bytes_of(name));
    file.commit();
    EXPECT_TRUE(std::filesystem::is_symlink(scratch / name));
    EXPECT_EQ(read_file(scratch / name), name);
  }
  EXPECT_EQ(read_file(scratch / "far/old"), "old");
  EXPECT_EQ(read_file(scratch / "far/new"), "twice");
}

TEST(AtomicFile, SaysThatALinkLeadsNowhere) {
  const folder scratch;
  std::filesystem::create_symlink("no/x", scratch / "missing");
  std::filesystem::create_symlink("circle", scratch / "circle");
  EXPECT_THAT(message_of([&] { atomic_file file(scratch / "missing"); }, failure::output),
              HasSubstr("missing: there is no folder "));
  EXPECT_THAT(message_of([&] { atomic_file file(scratch / "circle"); }, failure::output),
              HasSubstr("circle: is not a regular file"));
}

TEST(AtomicFile, SaysThatADiskHasNoRoom) {
  const folder scratch;
  constexpr std::int64_t petabytes = std::int64_t{1} << 56;
  require_free_space(scratch / "x", 1);
  EXPECT_THAT(message_of([&] { require_free_space(scratch / "x", petabytes); }, failure::output),
              HasSubstr(" MiB that are free there; name a file on another disk"));
  EXPECT_THAT(message_of([&] { require_free_space(scratch / "x", 1, petabytes); }, failure::output),
              HasSubstr("the 0 MiB that the other output leaves free there"));
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const folder scratch;
  scratch.write("x", "before");
  {
    atomic_file file(scratch / "x");
    file.write(bytes_of("after"));
    EXPECT_EQ(scratch.listing().size(), 2U);
  }
  EXPECT_EQ(read_file(scratch / "x"), "before");
  EXPECT_THAT(scratch.listing(), ElementsAre("x"));
}

TEST(AtomicFile, SaysWhyAWriteFailsAndLeavesNothing) {
  const folder scratch;
  const std::string message = message_of(
      [&] {
        atomic_file file(scratch / "x");
        const file_size_limit limit(1000);
        file.write(bytes_of(std::string(4000, 'x')));
      },
      failure::output);
  EXPECT_THAT(message, HasSubstr("x: cannot write: File too large"));
  EXPECT_THAT(scratch.listing(), IsEmpty());
}

TEST(AtomicFile, SaysThatTheDirectoryIsMissing) {
  const folder scratch;
  EXPECT_THAT(
      message_of([&] { atomic_file(scratch / "no/x"); }, failure::output),
      AllOf(HasSubstr("no/x: there is no folder "), HasSubstr("no; make it, or name another")));
}

TEST(AtomicFile, NeverReplacesADeviceOrADirectory) {
  const folder scratch;
  for (const auto& target : {std::filesystem::path("/dev/null"), scratch / "."}) {
    EXPECT_THAT(message_of([&] { atomic_file file(target); }, failure::output),
                HasSubstr("is not a regular file"));
  }
}

TEST(AtomicFile, SaysThatTheRenameFailedAndLeavesNothing) {
  const folder scratch;
  atomic_file file(scratch / "x");
  std::filesystem::create_directory(scratch / "x");
  EXPECT_THAT(message_of([&] { file.commit(); }, failure::output),
              HasSubstr("x: cannot rename onto it: Is a directory"));
}

TEST(AtomicFile, TwoWritersOfOneTargetDoNotMix) {
  const folder scratch;
  atomic_file one(scratch / "x");
  atomic_file two(scratch / "x");
  one.write(bytes_of("one"));
  two.write(bytes_of("two"));
  two.commit();
  one.commit();
  EXPECT_EQ(read_file(scratch / "x"), "one");
}

TEST(AtomicFile, HasThePermissionsOfTheUmask) {
  const folder scratch;
  const mode_t before = ::umask(027);
  atomic_file file(scratch / "x");
  ::umask(before);
  file.commit();
  EXPECT_EQ(std::filesystem::status(scratch / "x").permissions(),
            static_cast<std::filesystem::perms>(0640));
}

}  // namespace
}  // namespace kselect::runtime
