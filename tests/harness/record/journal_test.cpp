// The journal's file format: reading whole, truncated, damaged and foreign files, and the
// conditions for opening a run directory.

#include "harness/record/journal.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/harness/record/faulty_files.hpp"

namespace kselect::harness {
namespace {

struct thrown {
  failure category;
  std::string message;
  bool says(std::string_view words) const { return message.find(words) != std::string::npos; }
};

std::optional<thrown> error_of(auto&& action) {
  try {
    action();
  } catch (const error& caught) {
    return thrown{caught.category(), caught.what()};
  }
  return std::nullopt;
}

// A line in the framing common to all schema versions, with its newline.
std::string framed(std::string object) {
  const auto size = static_cast<uInt>(object.size());
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(object.data()), size);
  std::array<char, 9> digits{};
  std::snprintf(digits.data(), digits.size(), "%08lx", crc);
  object.pop_back();
  return object + ",\"crc32\":\"" + digits.data() + "\"}\n";
}

journal_contents read_text(const scratch_directory& scratch, std::string_view text) {
  spew(scratch / journal_name, text);
  return read_journal(scratch / journal_name);
}

TEST(journal, a_line_is_the_object_with_the_crc_of_its_text_as_last_member) {
  const scratch_directory scratch;
  journal::open(scratch.path(), open_mode::create_new).append(R"({"schema":1})");
  EXPECT_EQ(slurp(scratch / journal_name), "{\"schema\":1,\"crc32\":\"89fbc18c\"}\n");
  EXPECT_EQ(framed(R"({"schema":1})"), slurp(scratch / journal_name));
}

TEST(journal, gives_back_text_line_and_offset_of_each_record) {
  const scratch_directory scratch;
  spew(scratch / journal_name, journal_text(3));
  const journal_contents contents = read_journal(scratch / journal_name);
  EXPECT_EQ(prefix_length(contents.records), 3);
  EXPECT_FALSE(contents.torn);
  const std::string text = slurp(scratch / journal_name);
  for (const record_line& found : contents.records) {
    EXPECT_EQ(text.compare(static_cast<std::size_t>(found.offset), found.text.size() - 1,
                           found.text, 0, found.text.size() - 1),
              0);
  }
}

TEST(journal, every_prefix_of_a_file_gives_a_prefix_of_the_records_and_can_be_resumed) {
  constexpr int count = 5;
  const std::string whole = journal_text(count);
  const scratch_directory scratch;
  unsynced_files files;
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const std::string text = whole.substr(0, length);
    const journal_contents contents = read_text(scratch, text);
    EXPECT_EQ(slurp(scratch / journal_name), text) << "reading changed the file";
    const int kept = prefix_length(contents.records);
    EXPECT_EQ(kept, std::count(text.begin(), text.end(), '\n'));

    journal writer = journal::open(scratch.path(), open_mode::resume, files);
    EXPECT_EQ(prefix_length(writer.existing()), kept);
    const std::size_t end = text.rfind('\n') + 1;  // npos + 1 == 0
    ASSERT_EQ(writer.cut().has_value(), end != length) << length;
    if (writer.cut()) {
      EXPECT_EQ(writer.cut()->offset, static_cast<std::int64_t>(end));
      EXPECT_EQ(writer.cut()->bytes, static_cast<std::int64_t>(length - end));
    }
    for (int i = kept; i < count; ++i) writer.append(record(i));
    ASSERT_EQ(slurp(scratch / journal_name), whole) << length;
  }
}

TEST(journal, no_flipped_bit_or_replaced_byte_yields_a_wrong_record) {
  constexpr int count = 4;
  const std::string whole = journal_text(count);
  const std::size_t last_line = whole.rfind('\n', whole.size() - 2) + 1;
  file_in_memory files;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    const auto old = static_cast<unsigned char>(whole[at]);
    std::vector<int> bytes = {0x00, '\n', '\r', ' ', '}', '0', 0xff};
    for (int bit = 0; bit < 8; ++bit) bytes.push_back(old ^ (1 << bit));
    for (const int byte : bytes) {
      if (byte == old) continue;
      files.text = whole;
      files.text[at] = static_cast<char>(byte);
      std::optional<journal_contents> contents;
      const auto problem = error_of([&] { contents = read_journal(journal_name, files); });
      if (problem) {
        EXPECT_EQ(problem->category, failure::input);
        EXPECT_TRUE(problem->says("is damaged")) << problem->message;
      } else {
        // The newline before the last line also belongs to the torn tail.
        EXPECT_GE(at + 1, last_line) << "damage passed over";
        ASSERT_TRUE(contents->torn) << "damage unnoticed at " << at;
        EXPECT_EQ(prefix_length(contents->records), at < last_line ? count - 2 : count - 1);
      }
    }
  }
}

TEST(journal, damage_before_the_tail_is_told_with_line_and_offset_and_nothing_is_cut) {
  const std::string first = framed(record(0));
  const std::string last = framed(record(2));
  const scratch_directory scratch;
  for (const std::string& bad : {std::string("\n"), std::string("{}\n"), record(1) + "\n",
                                 std::string(30, '\0') + "\n", first.substr(0, 20) + "\n"}) {
    const std::string text = first + bad + last;
    spew(scratch / journal_name, text);
    const auto reading = error_of([&] { read_journal(scratch / journal_name); });
    const auto opening = error_of([&] { journal::open(scratch.path(), open_mode::resume); });
    for (const auto& problem : {reading, opening}) {
      ASSERT_TRUE(problem) << bad;
      EXPECT_EQ(problem->category, failure::input);
      EXPECT_TRUE(problem->says((scratch / journal_name).string())) << problem->message;
      EXPECT_TRUE(problem->says("line 2 (byte " + std::to_string(first.size()) + ")"))
          << problem->message;
    }
    EXPECT_EQ(slurp(scratch / journal_name), text);
  }
}

TEST(journal, what_a_power_failure_leaves_is_a_torn_tail) {
  const std::string good = journal_text(2);
  const std::string torn = framed(record(2));
  const scratch_directory scratch;
  const std::vector<std::string> tails = {
      std::string(1, '\0'),
      std::string(8192, '\0'),
      std::string(100, '\0') + "\n",
      torn.substr(0, 30) + std::string(4096, '\0'),
      torn.substr(0, 10) + std::string(20, '\0') + torn.substr(30),
      "\xff\xfe\x80\n\n\x01\x02\n\xc3(\n",
      "stale text\n{\"of\":1}\nanother \x07 file",
      "\n",
      "}",
  };
  for (const std::string& tail : tails) {
    const journal_contents contents = read_text(scratch, good + tail);
    EXPECT_EQ(prefix_length(contents.records), 2);
    ASSERT_TRUE(contents.torn);
    EXPECT_EQ(contents.torn->offset, static_cast<std::int64_t>(good.size()));
    EXPECT_EQ(contents.torn->bytes, static_cast<std::int64_t>(tail.size()));
    journal::open(scratch.path(), open_mode::resume).append(record(2));
    EXPECT_EQ(slurp(scratch / journal_name), good + torn);
  }
}

TEST(journal, one_line_of_another_program_is_not_cut) {
  const scratch_directory scratch;
  for (const char* const end : {"", "\n"}) {
    const std::string foreign = R"({"schema":1,"what":"something else"})" + std::string(end);
    spew(scratch / journal_name, foreign);
    const auto problem = error_of([&] { journal::open(scratch.path(), open_mode::resume); });
    ASSERT_TRUE(problem) << foreign;
    EXPECT_EQ(problem->category, failure::input);
    EXPECT_TRUE(problem->says("is no journal of this program")) << problem->message;
    EXPECT_EQ(slurp(scratch / journal_name), foreign);
  }
  // A first record without the end of its line is one that an interrupted append left.
  spew(scratch / journal_name, framed(record(0)).substr(0, framed(record(0)).size() - 1));
  EXPECT_FALSE(error_of([&] { journal::open(scratch.path(), open_mode::resume); }));
}

TEST(journal, a_file_whose_line_ends_were_converted_is_damaged_not_torn) {
  const scratch_directory scratch;
  std::string text = journal_text(3);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '\r');
  }
  const auto problem = error_of([&] { read_text(scratch, text); });
  ASSERT_TRUE(problem);
  EXPECT_TRUE(problem->says("line 1 (byte 0)")) << problem->message;
}

TEST(journal, another_schema_version_is_refused_even_in_the_last_line) {
  const scratch_directory scratch;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"schema":2})", "has schema 2"},
      {R"({"schema":"1"})", "has schema \"1\""},
      {R"({"schema":1.0})", "has schema 1.0"},
      {R"({"key":"x"})", "has no member \"schema\""},
      {R"([1})", "is not a JSON object"}};
  for (const auto& [object, reason] : cases) {
    const std::string text = framed(record(0)) + framed(object);
    spew(scratch / journal_name, text);
    const auto problem = error_of([&] { journal::open(scratch.path(), open_mode::resume); });
    ASSERT_TRUE(problem) << object;
    EXPECT_EQ(problem->category, failure::input);
    EXPECT_TRUE(problem->says("line 2") && problem->says(reason)) << problem->message;
    EXPECT_EQ(slurp(scratch / journal_name), text);
  }
}

TEST(journal, append_refuses_what_could_not_be_read_again) {
  const scratch_directory scratch;
  journal writer = journal::open(scratch.path(), open_mode::create_new);
  for (const std::string object :
       {"", "{}", "1", "{\"schema\":1", " {\"schema\":1}", "{\"schema\":1}\n",
        "{\"schema\":1,\n\"a\":2}", "{\"schema\":2}", "{\"schema\":1,\"crc32\":\"00000000\"}",
        "{\"schema\":1,\"a\":NaN}", "{\"schema\":1,\"a\":\"\xff\"}",
        "{\"schema\":1}{\"schema\":1}"}) {
    const auto problem = error_of([&] { writer.append(object); });
    ASSERT_TRUE(problem) << object;
    EXPECT_EQ(problem->category, failure::output);
  }
  EXPECT_EQ(slurp(scratch / journal_name), "");
}

TEST(journal, create_new_refuses_a_directory_with_results_and_says_what_to_do) {
  const scratch_directory scratch;
  for (const std::string& text : {journal_text(2), std::string("torn")}) {
    spew(scratch / journal_name, text);
    const auto problem = error_of([&] { journal::open(scratch.path(), open_mode::create_new); });
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->category, failure::output);
    EXPECT_TRUE(problem->says("--resume") && problem->says("--out")) << problem->message;
    EXPECT_EQ(slurp(scratch / journal_name), text);
  }
  spew(scratch / journal_name, "");
  journal::open(scratch.path(), open_mode::create_new).append(record(0));
  EXPECT_EQ(slurp(scratch / journal_name), framed(record(0)));
}

TEST(journal, both_modes_create_a_missing_directory_and_its_parents) {
  const scratch_directory scratch;
  for (const auto mode : {open_mode::create_new, open_mode::resume}) {
    const std::filesystem::path directory =
        scratch / (mode == open_mode::resume ? "a/resumed" : "b/c/new");
    journal writer = journal::open(directory, mode);
    EXPECT_TRUE(writer.existing().empty());
    EXPECT_FALSE(writer.cut());
    writer.append(record(0));
    EXPECT_EQ(prefix_length(read_journal(directory / journal_name).records), 1);
  }
}

TEST(journal, cannot_be_opened_where_nothing_can_be_written) {
  const scratch_directory scratch;
  spew(scratch / "plain", "x");
  make_directories(scratch / "odd" / journal_name);
  for (const auto& directory :
       {scratch / "plain", scratch / "plain/run", scratch / "odd",
        std::filesystem::path("/proc/self"), std::filesystem::path("/proc/kselect")}) {
    const auto problem = error_of([&] { journal::open(directory, open_mode::resume); });
    ASSERT_TRUE(problem) << directory;
    EXPECT_EQ(problem->category, failure::output);
  }
}

TEST(journal, a_read_only_directory_is_told_as_such) {
  const scratch_directory scratch;
  chmod(scratch.path().c_str(), 0555);
  const pid_t child = fork();
  if (child == 0) {
    // Root may write everywhere, so drop privileges.
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(2);
    const auto problem = error_of([&] { journal::open(scratch.path(), open_mode::resume); });
    const bool told =
        problem && problem->category == failure::output && problem->says("get permission");
    _exit(told ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  chmod(scratch.path().c_str(), 0700);
}

TEST(journal, a_second_writer_is_told_the_directory_and_the_process_that_holds_it) {
  const scratch_directory scratch;
  std::array<int, 2> ready{};
  std::array<int, 2> done{};
  ASSERT_EQ(pipe(ready.data()), 0);
  ASSERT_EQ(pipe(done.data()), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    close(done[1]);
    char byte = 'x';
    const journal writer = journal::open(scratch.path(), open_mode::create_new);
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    _exit(read(done[0], &byte, 1) == 0 ? 0 : 1);
  }
  close(done[0]);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  for (const auto mode : {open_mode::create_new, open_mode::resume}) {
    const auto problem = error_of([&] { journal::open(scratch.path(), mode); });
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->category, failure::output);
    EXPECT_TRUE(problem->says(scratch.path().string())) << problem->message;
    EXPECT_TRUE(problem->says("process " + std::to_string(holder) + ";")) << problem->message;
  }
  close(done[1]);
  int status = -1;
  ASSERT_EQ(waitpid(holder, &status, 0), holder);
  EXPECT_EQ(status, 0);
  journal::open(scratch.path(), open_mode::resume).append(record(0));
  close(ready[0]);
  close(ready[1]);
}

TEST(journal, holds_its_directory_until_it_is_destroyed_also_when_moved) {
  const scratch_directory scratch;
  const auto reopen = [&] { journal::open(scratch.path(), open_mode::resume); };
  {
    journal first = journal::open(scratch.path(), open_mode::create_new);
    journal second = std::move(first);
    EXPECT_TRUE(error_of(reopen));
    second.append(record(0));
  }
  EXPECT_FALSE(error_of(reopen));
}

}  // namespace
}  // namespace kselect::harness
