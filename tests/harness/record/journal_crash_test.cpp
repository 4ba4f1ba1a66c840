// The journal under faults: each system call fails in turn, a writer is killed at any moment, a
// reader runs beside a writer. In all cases the records are a prefix of those given to append(), no
// record for which append() returned is missing, and resuming completes them.

#include <array>
#include <chrono>
#include <latch>
#include <random>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "harness/record/journal.hpp"
#include "tests/harness/record/faulty_files.hpp"

namespace kselect::harness {
namespace {

constexpr int total = 4;

// A short sweep: appends the missing records, then replaces the snapshot. `acknowledged` counts the
// records for which append() returned.
void sweep(const std::filesystem::path& directory, int& acknowledged, file_system& files) {
  journal writer = journal::open(directory, open_mode::resume, files);
  acknowledged = static_cast<int>(writer.existing().size());
  for (; acknowledged < total; ++acknowledged) writer.append(record(acknowledged));
  write_snapshot(directory / "meta.json", "complete", files);
}

struct scenario {
  const char* name;
  int code;
  faulty_files::fault kind;
  bool short_write;
  bool survives;  // the journal handles the fault itself and must not throw
};

class every_call : public testing::TestWithParam<scenario> {};

// Runs the sweep with call `n` failing, in a directory that starts with one record and a torn tail.
// Returns whether the sweep made that many calls.
bool sweep_with_fault(const scenario& s, int n, const std::string& whole) {
  const scratch_directory scratch;
  const std::filesystem::path directory = scratch / "run";
  make_directories(directory);
  const std::size_t first = whole.find('\n') + 1;
  spew(directory / journal_name, whole.substr(0, first + 10));
  spew(directory / "meta.json", "running");
  faulty_files files;
  files.fail_at = n;
  files.code = s.code;
  files.kind = s.kind;
  files.short_write = s.short_write;
  int acknowledged = 1;
  bool failed = false;
  try {
    sweep(directory, acknowledged, files);
  } catch (const error& caught) {
    failed = true;
    EXPECT_EQ(caught.category(), failure::output) << caught.what();
    const std::string message = caught.what();
    EXPECT_NE(message.find(scratch.path().string()), std::string::npos) << message;
    EXPECT_EQ(message.find("in use"), std::string::npos) << message;
  }
  EXPECT_FALSE(failed && s.survives) << "call " << n;

  const int found = prefix_length(read_journal(directory / journal_name).records);
  EXPECT_GE(found, acknowledged) << "call " << n;
  const std::string meta = slurp(directory / "meta.json");
  EXPECT_TRUE(meta == "complete" || (failed && meta == "running")) << meta;

  unsynced_files healthy;
  sweep(directory, acknowledged, healthy);
  EXPECT_EQ(slurp(directory / journal_name), whole) << "call " << n;
  EXPECT_EQ(slurp(directory / "meta.json"), "complete");
  return files.struck;
}

TEST_P(every_call, may_fail_and_nothing_recorded_is_lost) {
  const std::string whole = journal_text(total);
  // A scenario of short writes does not fail other calls, so a call that does not fail is not the
  // end. A pass without faults counts the calls.
  int acknowledged = 0;
  faulty_files clean;
  const scratch_directory scratch;
  sweep(scratch / "run", acknowledged, clean);
  int struck = 0;
  for (int n = 1; n <= clean.calls + 5; ++n) struck += sweep_with_fault(GetParam(), n, whole);
  // The calls: opening, locking, cutting, three appends and the snapshot.
  EXPECT_GE(struck, GetParam().short_write && GetParam().code == 0 ? 5 : 20);
}

using fault = faulty_files::fault;
INSTANTIATE_TEST_SUITE_P(
    journal, every_call,
    testing::Values(scenario{"EIO", EIO, fault::once, false, false},
                    scenario{"ENOSPC", ENOSPC, fault::once, false, false},
                    scenario{"device_gone", EIO, fault::from_then_on, false, false},
                    scenario{"interrupted", EINTR, fault::once, false, true},
                    scenario{"short_write", 0, fault::once, true, true},
                    scenario{"short_write_then_full", ENOSPC, fault::once, true, false},
                    scenario{"short_write_then_gone", EIO, fault::from_then_on, true, false}),
    [](const auto& chosen) { return std::string(chosen.param.name); });

TEST(journal_crash, a_record_is_one_write_and_a_sync) {
  const scratch_directory scratch;
  faulty_files files;
  journal writer = journal::open(scratch.path(), open_mode::create_new, files);
  files.trace.clear();
  writer.append(record(0));
  EXPECT_EQ(files.trace, "write fdatasync ");
}

TEST(journal_crash, opening_makes_names_and_what_is_found_durable) {
  const scratch_directory scratch;
  faulty_files files;
  journal::open(scratch / "run", open_mode::create_new, files);
  EXPECT_EQ(files.trace,
            "mkdir open fsync close "        // the directory, in its parent
            "open flock read "               // the lock, which must not be another program's file
            "ftruncate write "
            "open open fsync close "         // the file, in the directory
            "read fdatasync close close ");  // a killed writer may not have synced
}

TEST(journal_crash, a_failed_append_leaves_no_trace_and_the_next_succeeds) {
  for (const bool short_write : {false, true}) {
    const scratch_directory scratch;
    faulty_files files;
    journal writer = journal::open(scratch.path(), open_mode::create_new, files);
    writer.append(record(0));
    const std::string before = slurp(scratch / journal_name);
    files.code = ENOSPC;
    files.short_write = short_write;
    files.fail_at = files.calls + 1;
    try {
      writer.append(record(1));
      FAIL() << "no error";
    } catch (const error& caught) {
      EXPECT_EQ(std::string(caught.what()),
                (scratch / journal_name).string() +
                    ": cannot write: No space left on device; free some space and run again; the "
                    "records before this one are kept: continue with --resume");
    }
    EXPECT_EQ(slurp(scratch / journal_name), before);
    writer.append(record(1));
    EXPECT_EQ(slurp(scratch / journal_name), journal_text(2));
  }
}

TEST(journal_crash, a_line_that_cannot_be_taken_back_is_removed_before_the_next_append) {
  const scratch_directory scratch;
  faulty_files files;
  journal writer = journal::open(scratch.path(), open_mode::create_new, files);
  writer.append(record(0));
  files.code = EIO;
  files.kind = faulty_files::fault::from_then_on;
  files.short_write = true;
  files.fail_at = files.calls + 1;
  for (int attempt = 0; attempt < 2; ++attempt) EXPECT_THROW(writer.append(record(1)), error);
  const journal_contents torn = read_journal(scratch / journal_name);
  EXPECT_EQ(prefix_length(torn.records), 1);
  EXPECT_TRUE(torn.torn);
  files.fail_at = 0;
  writer.append(record(1));
  EXPECT_EQ(slurp(scratch / journal_name), journal_text(2));
}

// Every third record is so large that a kill can happen while it is written.
std::string large_record(int number) {
  const auto size = static_cast<std::size_t>(number % 3 == 0 ? 100'000 : 50 * (number % 7));
  return R"({"schema":1,"number":)" + std::to_string(number) + R"(,"text":")" +
         std::string(size, static_cast<char>('a' + number % 26)) + "\"}";
}

int large_prefix_length(std::span<const record_line> records) {
  int count = 0;
  for (const record_line& found : records) EXPECT_EQ(found.text, large_record(count++));
  return count;
}

// Appends until killed; reports each record through `pipe_end` after append() returned.
[[noreturn]] void append_until_killed(const std::filesystem::path& directory, int pipe_end) {
  try {
    journal writer = journal::open(directory, open_mode::resume);
    for (int next = static_cast<int>(writer.existing().size());; ++next) {
      writer.append(large_record(next));
      if (write(pipe_end, &next, sizeof next) != sizeof next) _exit(1);
    }
  } catch (const error&) {
    _exit(2);
  }
}

TEST(journal_crash, a_writer_killed_before_each_call_and_inside_each_write_can_be_resumed) {
  const std::string whole = journal_text(total);
  int torn = 0;
  for (const bool inside_write : {false, true}) {
    int n = 1;
    for (bool killed = true; killed; ++n) {
      const scratch_directory scratch;
      const pid_t child = fork();
      if (child == 0) {
        faulty_files files;
        files.fail_at = n;
        files.kind = faulty_files::fault::killed;
        files.short_write = inside_write;
        int acknowledged = 0;
        sweep(scratch / "run", acknowledged, files);
        _exit(0);
      }
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      killed = WIFSIGNALED(status);
      ASSERT_EQ(status, killed ? SIGKILL : 0);
      if (std::filesystem::exists(scratch / "run" / journal_name)) {
        torn += read_journal(scratch / "run" / journal_name).torn.has_value();
      }
      int acknowledged = 0;
      unsynced_files healthy;
      sweep(scratch / "run", acknowledged, healthy);
      ASSERT_EQ(slurp(scratch / "run" / journal_name), whole) << n;
      ASSERT_EQ(slurp(scratch / "run" / "meta.json"), "complete") << n;
    }
    EXPECT_GE(n, 20);
  }
  EXPECT_EQ(torn, total);
}

TEST(journal_crash, a_writer_killed_at_any_moment_loses_no_record_and_repeats_none) {
  const scratch_directory scratch;
  std::mt19937 random(20261120);
  for (int round = 0; round < 60; ++round) {
    // Occasional fresh starts keep the file small, and kills then also hit its creation.
    if (round % 10 == 0) std::filesystem::remove_all(scratch / "run");
    std::array<int, 2> told{};
    ASSERT_EQ(pipe(told.data()), 0);
    const pid_t child = fork();
    if (child == 0) append_until_killed(scratch / "run", told[1]);
    close(told[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 25'000));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed: " << status;
    int acknowledged = -1;
    for (int number; read(told[0], &number, sizeof number) == sizeof number;) acknowledged = number;
    close(told[0]);
    if (!std::filesystem::exists(scratch / "run" / journal_name)) continue;
    const journal_contents contents = read_journal(scratch / "run" / journal_name);
    ASSERT_GT(large_prefix_length(contents.records), acknowledged) << "round " << round;
  }
  journal writer = journal::open(scratch / "run", open_mode::resume);
  const int kept = large_prefix_length(writer.existing());
  for (int next = kept; next < kept + 5; ++next) writer.append(large_record(next));
  const journal_contents contents = read_journal(scratch / "run" / journal_name);
  EXPECT_EQ(large_prefix_length(contents.records), kept + 5);
  EXPECT_FALSE(contents.torn);
}

TEST(journal_crash, a_reader_beside_a_writer_sees_a_growing_prefix) {
  const scratch_directory scratch;
  journal writer = journal::open(scratch.path(), open_mode::create_new);
  constexpr int count = 200;
  std::latch some_seen(1);  // otherwise all may be written before the first look
  std::thread appending([&] {
    for (int i = 0; i < count; ++i) {
      if (i == count / 2) some_seen.wait();
      writer.append(large_record(i % 3 == 0 ? i + 1 : i));
    }
  });
  int before = 0;
  int distinct = 0;
  while (before < count) {
    const journal_contents contents = read_journal(scratch / journal_name);
    int now = 0;
    for (const record_line& found : contents.records) {
      EXPECT_EQ(found.text, large_record(now % 3 == 0 ? now + 1 : now));
      ++now;
    }
    EXPECT_GE(now, before);
    if (before == 0 && now > 0) some_seen.count_down();
    distinct += now > before;
    before = now;
  }
  appending.join();
  EXPECT_GT(distinct, 1);
}

}  // namespace
}  // namespace kselect::harness
