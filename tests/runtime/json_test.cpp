// JSON of strangers: bounded in depth, and no exception but the project's own.

#include "runtime/json.hpp"

#include <gmock/gmock.h>
#include <string>

#include "tests/runtime/io/input_files.hpp"

namespace kselect::runtime {
namespace {

using input_files::folder;
using input_files::message_of;
using testing::HasSubstr;

std::string nested(int depth) {
  const auto count = static_cast<std::size_t>(depth);
  return std::string(count, '[') + std::string(count, ']');
}

TEST(Json, DeepTextIsRefusedBeforeItIsParsed) {
  EXPECT_TRUE(parse_json(nested(deepest_json), "x").is_array());
  for (const int depth : {deepest_json + 1, 48'000, 1'000'000}) {
    EXPECT_THAT(message_of([&] { parse_json(nested(depth), "x.json"); }),
                HasSubstr("x.json: nests deeper than 64"));
  }
  // Brackets in strings do not count.
  EXPECT_TRUE(parse_json('"' + std::string(1000, '[') + "\\\"[\"", "x").is_string());
}

TEST(Json, WhatFollowsAZeroByteIsSeen) {
  EXPECT_THAT(message_of([] { parse_json(std::string("{}\0{}", 5), "x"); }),
              HasSubstr("x: holds a zero byte"));
  EXPECT_THAT(message_of([] { parse_json("{} {}", "x"); }), HasSubstr("x: is no JSON"));
}

TEST(Json, FilesThatCannotBeRead) {
  const folder scratch;
  EXPECT_THAT(message_of([&] { read_json(scratch / "none.json"); }),
              HasSubstr("none.json: cannot be read: No such file"));
  EXPECT_THAT(message_of([&] { read_json(scratch / "."); }), HasSubstr("not a regular file"));
}

TEST(Json, AMemberOfAnotherKindIsAnErrorOfTheInput) {
  const auto tree = parse_json(R"({"a": {}})", "x");
  const auto read = [&] { return tree.at("a").get<int>(); };
  EXPECT_THAT(message_of([&] { read_members("x", read); }), HasSubstr("x: "));
  EXPECT_THAT(message_of([&] { read_members("x", [&] { return tree.at("b").get<int>(); }); }),
              HasSubstr("'b' not found"));
}

TEST(Json, WholeNumbersAreTakenIfTheyFit) {
  const auto tree = parse_json("[0, 255, -1, 256, 18446744073709551615, 1e44, 2.0, \"3\"]", "x");
  EXPECT_EQ(whole<std::uint8_t>(tree[0]), 0);
  EXPECT_EQ(whole<std::uint8_t>(tree[1]), 255);
  EXPECT_EQ(whole<int>(tree[2]), -1);
  EXPECT_EQ(whole<std::uint64_t>(tree[4]), std::numeric_limits<std::uint64_t>::max());
  for (const std::size_t at : {2, 3, 4, 5, 6, 7}) {
    EXPECT_THROW(whole<std::uint8_t>(tree[at]), std::invalid_argument) << tree[at];
  }
  EXPECT_THROW(whole<std::int64_t>(tree[4]), std::invalid_argument);
  EXPECT_THAT(message_of([&] { read_members("x", [&] { return whole<int>(tree[5]); }); }),
              HasSubstr("x: 1e+44 is no whole number from -2147483648 to 2147483647"));
}

TEST(Json, ReasonsHaveNoNumberOfTheLibrary) {
  const auto tree = parse_json(R"({"a": {}})", "x");
  const auto reason = [&](const char* member) {
    return message_of([&] { read_members("x", [&] { return tree.at(member).get<int>(); }); });
  };
  EXPECT_THAT(reason("a"), HasSubstr("x: type must be number, but is object"));
  EXPECT_THAT(reason("b"), HasSubstr("x: key 'b' not found"));
}

TEST(Json, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(to_text({{"name", "\xff"}}), "{\"name\":\"\xef\xbf\xbd\"}");
}

}  // namespace
}  // namespace kselect::runtime
