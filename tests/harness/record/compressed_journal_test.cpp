// Compressed journals are read like plain ones, and never continued.

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "harness/record/journal.hpp"
#include "runtime/error.hpp"
#include "tests/harness/record/faulty_files.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::harness {
namespace {

std::optional<error> refusal_of(auto&& action) {
  try {
    action();
  } catch (const error& caught) {
    return caught;
  }
  return std::nullopt;
}

bool says(const error& e, std::string_view words) {
  return std::string_view(e.what()).find(words) != std::string_view::npos;
}

TEST(compressed_journal, is_read_as_the_plain_one) {
  const scratch_directory scratch;
  const std::string text = journal_text(40);
  spew(scratch / compressed_journal_name, input_files::gzip(text));
  ASSERT_EQ(journal_in(scratch.path()), scratch / compressed_journal_name);
  const journal_contents contents = read_journal(journal_in(scratch.path()));
  EXPECT_EQ(prefix_length(contents.records), 40);
  EXPECT_FALSE(contents.torn);
  EXPECT_EQ(
      text.compare(static_cast<std::size_t>(contents.records[7].offset), 10, record(7), 0, 10), 0);
}

TEST(compressed_journal, may_hold_hundreds_of_times_its_bytes_and_several_members) {
  const scratch_directory scratch;
  const std::string long_line = R"({"schema":1,"text":")" + std::string(1 << 20, 'x') + "\"}";
  std::string packed;
  for (int i = 0; i < 2; ++i) {
    const scratch_directory other;
    journal::open(other.path(), open_mode::create_new).append(long_line);
    packed += input_files::gzip(slurp(other / journal_name));
  }
  ASSERT_LT(packed.size() * 100, 2 * long_line.size());
  spew(scratch / compressed_journal_name, packed);
  const journal_contents contents = read_journal(scratch / compressed_journal_name);
  ASSERT_EQ(contents.records.size(), 2U);
  EXPECT_EQ(contents.records[1].text, long_line);
}

TEST(compressed_journal, cut_anywhere_is_an_input_error_that_names_it) {
  const scratch_directory scratch;
  const std::string whole = input_files::gzip(journal_text(5));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    spew(scratch / compressed_journal_name, whole.substr(0, length));
    const auto problem = refusal_of([&] { read_journal(scratch / compressed_journal_name); });
    ASSERT_TRUE(problem) << length;
    EXPECT_EQ(problem->category(), failure::input);
    EXPECT_TRUE(says(*problem, "runs.jsonl.gz: is truncated")) << problem->what();
  }
}

TEST(compressed_journal, beside_a_plain_one_is_refused) {
  const scratch_directory scratch;
  EXPECT_EQ(journal_in(scratch.path()), scratch / journal_name);
  spew(scratch / compressed_journal_name, input_files::gzip(journal_text(1)));
  spew(scratch / journal_name, journal_text(2));
  const auto problem = refusal_of([&] { journal_in(scratch.path()); });
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->category(), failure::input);
  EXPECT_TRUE(says(*problem, "runs.jsonl and runs.jsonl.gz")) << problem->what();
}

TEST(compressed_journal, is_not_continued_and_nothing_is_written_beside_it) {
  const scratch_directory scratch;
  spew(scratch / compressed_journal_name, input_files::gzip(journal_text(1)));
  for (const auto mode : {open_mode::create_new, open_mode::resume}) {
    const auto problem = refusal_of([&] { journal::open(scratch.path(), mode); });
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->category(), failure::output);
    EXPECT_TRUE(says(*problem, "runs.jsonl.gz") && says(*problem, "gunzip")) << problem->what();
  }
  EXPECT_FALSE(std::filesystem::exists(scratch / journal_name));
  EXPECT_FALSE(std::filesystem::exists(scratch / ".lock"));
}

}  // namespace
}  // namespace kselect::harness
