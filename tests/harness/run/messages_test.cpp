// Messages between a sweep and its worker: what one side writes the other reads, and what neither
// writes is refused.

#include "harness/run/messages.hpp"

#include <gtest/gtest.h>

#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

cell some_cell() {
  cell c;
  c.problem.n = 100;
  c.problem.q = 2;
  c.problem.k = 5;
  c.problem.seed = 7;
  c.entry = find_algorithm("cpu/sort");
  c.key = "0123456789abcdef";
  return c;
}

std::string with(std::string line, const std::string& part, const std::string& other) {
  const std::size_t at = line.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return line.replace(at, part.size(), other);
}

template <class Read>
void expect_refused(const Read& read, const std::string& line) {
  try {
    read(line);
    ADD_FAILURE() << line;
  } catch (const error& why) {
    EXPECT_EQ(why.category(), failure::input) << line;
  }
}

TEST(Messages, AGroupIsReadAsItWasWritten) {
  cell c = some_cell();
  c.problem.nan = nan_order::last;
  length_file file{.written = "L\xff.npy", .path = "/data/L\xff.npy", .hash = "0123456789abcdef"};
  c.problem.give_lengths(
      {.kind = length_kind::file, .from = std::make_shared<const length_file>(file)});
  c.problem.give_mask({mask_bits::elements, 0.3});
  const cell* const cells[] = {&c};
  const auto read = group_from(group_line(cells));
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].problem, c.problem);
  EXPECT_EQ(read[0].problem.row_lengths.from->path, file.path);
  EXPECT_EQ(read[0].entry, c.entry);
  EXPECT_EQ(read[0].key, c.key);
}

TEST(Messages, AGroupOfNonsenseIsRefused) {
  const cell c = some_cell();
  const cell* const cells[] = {&c};
  const std::string line = group_line(cells);
  for (const auto& [part, other] :
       std::vector<std::pair<std::string, std::string>>{{"cpu/sort", "cpu/none"},
                                                        {R"("layout":0)", R"("layout":9)"},
                                                        {R"("executor":)", R"("executor":9)"},
                                                        {R"("n":100)", R"("n":-1)"},
                                                        {R"("n":100)", R"("n":1e300)"},
                                                        {R"("k":5)", R"("k":"5")"},
                                                        {R"("kind":)", R"("kind":7)"},
                                                        {R"("mask":0)", R"("mask":3)"},
                                                        {R"("mask_pitch":0)", R"("mask_pitch":-1)"},
                                                        {line, R"({"group":[]})"},
                                                        {line, R"({"group":5})"},
                                                        {line, "[]"},
                                                        {line, "\x01"}}) {
    expect_refused(group_from, with(line, part, other));
  }
}

TEST(Messages, ASetupOfNonsenseIsRefused) {
  worker_setup setup;
  setup.input.spec = dataset_input{.base = "b\xff.npy", .query = {}, .self = true, .limit = {}};
  setup.description = "d";
  setup.plugins = {{"/p\xff.so", "0123456789abcdef"}};
  const std::string line = setup_line(setup);
  EXPECT_EQ(setup_from(line).plugins.at(0).file, "/p\xff.so");
  EXPECT_EQ(setup_from(line).plugins.at(0).hash, "0123456789abcdef");
  EXPECT_EQ(std::get<dataset_input>(setup_from(line).input.spec).base, "b\xff.npy");
  for (const auto& [part, other] : std::vector<std::pair<std::string, std::string>>{
           {R"("metric":0)", R"("metric":99)"},
           {R"("cache":0)", R"("cache":7)"},
           {R"("ceilings":{})", R"("ceilings":{"moon":{}})"},
           {R"("plugins":[)", R"("plugins":[7,)"},
           {R"("description")", R"("prescription")"}}) {
    expect_refused(setup_from, with(line, part, other));
  }
}

TEST(Messages, AWorkersNonsenseIsRefused) {
  const std::string record =
      R"({"schema":1,"key":"k","status":"ok","reason":"","time":{"median":5.0}})";
  EXPECT_EQ(message_from(record).key, "k");
  EXPECT_TRUE(message_from(R"({"event":"done","retired":true})").retired);
  const auto failed = message_from(R"({"event":"failed","category":3,"message":"m"})");
  EXPECT_EQ(failed.category, failure::input);
  for (const char* const line :
       {"", "null", "{}", R"({"event":5})", R"({"event":"begun"})", R"({"event":"done"})",
        R"({"event":"failed","category":70,"message":"m"})",
        R"({"event":"ceilings","executor":"moon","read":1,"copy":1,"cached_read":1})",
        R"({"schema":1,"key":"k","status":"fine","reason":"","time":null})",
        R"({"schema":1,"key":"k","status":"ok","reason":null,"time":null})",
        R"({"schema":1,"key":"k","status":"ok","reason":"","time":{}})",
        R"({"schema":2,"key":"k","status":"ok","reason":"","time":null})"}) {
    expect_refused(message_from, line);
  }
}

}  // namespace
}  // namespace kselect::harness
