// File operations: atomic snapshots, messages of failures, and cleaning up.

#include "harness/record/file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/harness/record/faulty_files.hpp"

namespace kselect::harness {
namespace {

std::string failure_of(failure category, auto&& action) {
  try {
    action();
  } catch (const error& caught) {
    EXPECT_EQ(caught.category(), category) << caught.what();
    return caught.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

int entries(const std::filesystem::path& directory) {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator(directory), {}));
}

TEST(snapshot, replaces_the_file_and_leaves_nothing_beside_it) {
  const scratch_directory scratch;
  write_snapshot(scratch / "meta.json", "old and long");
  write_snapshot(scratch / "meta.json", "new");
  EXPECT_EQ(slurp(scratch / "meta.json"), "new");
  EXPECT_EQ(entries(scratch.path()), 1);
}

TEST(snapshot, replaces_the_file_that_a_link_names) {
  const scratch_directory scratch;
  std::filesystem::create_directory(scratch / "far");
  std::filesystem::create_symlink("far/counts.json", scratch / "link");
  write_snapshot(scratch / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "link"));
  EXPECT_EQ(slurp(scratch / "far/counts.json"), "new");
  EXPECT_EQ(entries(scratch / "far"), 1);
}

TEST(snapshot, is_on_the_device_before_it_takes_the_name_and_the_name_after) {
  const scratch_directory scratch;
  faulty_files files;
  write_snapshot(scratch / "meta.json", "new", files);
  EXPECT_EQ(files.trace, "open write fsync close rename open fsync close ");
}

TEST(snapshot, is_old_or_new_whichever_call_fails) {
  for (const int code : {EIO, ENOSPC}) {
    for (const bool short_write : {false, true}) {
      int n = 1;
      for (bool struck = true; struck; ++n) {
        const scratch_directory scratch;
        write_snapshot(scratch / "meta.json", "old");
        faulty_files files;
        files.fail_at = n;
        files.code = code;
        files.short_write = short_write;
        bool failed = false;
        try {
          write_snapshot(scratch / "meta.json", "new text", files);
        } catch (const error& caught) {
          failed = true;
          EXPECT_EQ(caught.category(), failure::output);
        }
        struck = files.struck;
        // The eighth call closes the directory; everything is done by then.
        if (!short_write) {
          EXPECT_EQ(failed, n < 8) << n;
        }
        const std::string text = slurp(scratch / "meta.json");
        EXPECT_TRUE(text == "new text" || (failed && text == "old")) << n << ": " << text;
        EXPECT_EQ(entries(scratch.path()), 1) << n;
      }
      // open, write, fsync, close, rename; open, fsync, close of the directory.
      EXPECT_GT(n, 8);
    }
  }
}

TEST(snapshot, finishes_after_a_short_write_and_after_interruptions) {
  for (int n = 1; n <= 9; ++n) {
    const scratch_directory scratch;
    faulty_files files;
    files.fail_at = n;
    files.short_write = n % 2 == 0;
    files.code = files.short_write ? 0 : EINTR;
    write_snapshot(scratch / "meta.json", "all of it", files);
    EXPECT_EQ(slurp(scratch / "meta.json"), "all of it") << n;
  }
}

TEST(snapshot, leftovers_of_dead_writers_are_removed_and_nothing_else) {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  ASSERT_EQ(waitpid(dead, nullptr, 0), dead);
  const scratch_directory scratch;
  const std::string own = std::to_string(getpid());
  spew(scratch / (".meta.json.tmp." + std::to_string(dead)), "x");
  spew(scratch / (".meta.json.tmp." + own), "x");
  const std::vector<std::string> kept = {".meta.json.tmp.1",  // the first process always lives
                                         ".meta.json.tmp.",
                                         ".meta.json.tmp.0",
                                         ".meta.json.tmp." + own + "x",
                                         ".meta.json.tmp.99999999999999999999",
                                         "meta.json.tmp." + own,
                                         ".tmp." + own,
                                         "meta.json"};
  for (const std::string& name : kept) spew(scratch / name, "x");
  journal::open(scratch.path(), open_mode::create_new);
  for (const std::string& name : kept) EXPECT_TRUE(exists(scratch / name)) << name;
  EXPECT_EQ(entries(scratch.path()), static_cast<int>(kept.size()) + 2);  // the journal, the lock
}

TEST(make_directories, creates_parents_and_accepts_what_exists) {
  const scratch_directory scratch;
  make_directories(scratch / "a/b/c");
  make_directories(scratch / "a/b/c");
  make_directories(scratch / "d/e/");
  EXPECT_TRUE(is_directory(scratch / "a/b/c"));
  EXPECT_TRUE(is_directory(scratch / "d/e"));
}

TEST(make_directories, another_process_may_be_faster) {
  class raced : public unsynced_files {
    int mkdir(const char* path, mode_t mode) override {
      file_system::mkdir(path, mode);
      return file_system::mkdir(path, mode);
    }
  } files;
  const scratch_directory scratch;
  make_directories(scratch / "a/b", files);
  EXPECT_TRUE(is_directory(scratch / "a/b"));
}

TEST(make_directories, names_the_path_that_is_in_the_way) {
  const scratch_directory scratch;
  spew(scratch / "plain", "x");
  for (const char* name : {"plain", "plain/run", "plain/deep/run"}) {
    const std::string message =
        failure_of(failure::output, [&] { make_directories(scratch / name); });
    EXPECT_NE(message.find((scratch / "plain").string()), std::string::npos) << message;
    EXPECT_NE(message.find("check the path"), std::string::npos) << message;
  }
  // Not even root can create a directory here.
  failure_of(failure::output, [] { make_directories("/proc/kselect/run"); });
}

TEST(file, a_full_disk_is_named_with_the_file_and_what_to_do) {
  file full("/dev/full", O_WRONLY, failure::output, system_files());
  const std::string message = failure_of(failure::output, [&] { full.write_all("text"); });
  EXPECT_EQ(message,
            "/dev/full: cannot write: No space left on device; free some space and run again");
}

TEST(file, a_write_that_makes_no_progress_is_an_error) {
  class stuck : public file_system {
    ssize_t write(int, const void*, std::size_t) override { return 0; }
  } files;
  file out("/dev/null", O_WRONLY, failure::output, files);
  EXPECT_THROW(out.write_all("text"), error);
}

TEST(file, reserves_space_and_keeps_its_length) {
  const scratch_directory scratch;
  file out(scratch / "rows", O_WRONLY | O_CREAT | O_APPEND, failure::output, system_files());
  out.reserve(1 << 20);
  out.write_all("text");
  struct stat found {};
  ASSERT_EQ(stat((scratch / "rows").c_str(), &found), 0);
  EXPECT_EQ(found.st_size, 4);
  if (fallocate(open((scratch / "probe").c_str(), O_WRONLY | O_CREAT, 0600), 0, 0, 1) == 0) {
    EXPECT_GE(found.st_blocks * 512, 1 << 20);
  }
  faulty_files full;
  full.fail_at = 2;  // the call after open
  full.code = ENOSPC;
  file other(scratch / "other", O_WRONLY | O_CREAT, failure::output, full);
  EXPECT_EQ(failure_of(failure::output, [&] { other.reserve(1 << 20); }),
            (scratch / "other").string() +
                ": cannot set space aside: No space left on device; free some space and run again");
}

TEST(file, space_is_not_reserved_where_the_file_system_cannot) {
  const scratch_directory scratch;
  for (const int code : {EOPNOTSUPP, ENOSYS, EINVAL}) {
    faulty_files without;
    without.fail_at = 2;
    without.code = code;
    file out(scratch / "rows", O_WRONLY | O_CREAT, failure::output, without);
    out.reserve(1 << 20);
    EXPECT_TRUE(without.struck);
  }
}

TEST(file, a_missing_input_is_named) {
  const std::string message = failure_of(failure::input, [] {
    file("/nonexistent/runs.jsonl", O_RDONLY, failure::input, system_files());
  });
  EXPECT_EQ(message,
            "/nonexistent/runs.jsonl: cannot open: No such file or directory; check the path, or "
            "choose another");
}

// The system writes a part and then fails, as on a full disk.
TEST(file, a_journal_survives_the_limit_on_file_sizes) {
  const scratch_directory scratch;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {300, 300};
    setrlimit(RLIMIT_FSIZE, &limit);
    int appended = 0;
    try {
      journal writer = journal::open(scratch.path(), open_mode::create_new);
      for (; appended < 100; ++appended) writer.append(record(appended));
    } catch (const error& caught) {
      const std::string message = caught.what();
      _exit(message.find("ulimit -f") == std::string::npos ? 100 : appended);
    }
    _exit(101);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  const int appended = WEXITSTATUS(status);
  EXPECT_GT(appended, 0);
  EXPECT_LT(appended, 100);
  const journal_contents contents = read_journal(scratch / journal_name);
  EXPECT_EQ(prefix_length(contents.records), appended);
  EXPECT_FALSE(contents.torn);
}

}  // namespace
}  // namespace kselect::harness
