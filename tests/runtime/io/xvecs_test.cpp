// .fvecs, .bvecs and .ivecs files, valid and invalid.

#include <gmock/gmock.h>

#include "runtime/io/vectors.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::runtime {
namespace {

using input_files::folder;
using input_files::little;
using input_files::message_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::string dimension(std::int32_t d) { return little<std::int32_t>({d}); }

std::string fvec(const std::vector<float>& components) {
  return dimension(static_cast<std::int32_t>(components.size())) + little(components);
}

TEST(Xvecs, ReadsFloats) {
  const folder scratch;
  const vector_set set = load_vectors(
      scratch.write("x.fvecs", fvec({1.5F, -2, 3}) + fvec({4, 5, 6}) + fvec({7, 8, 9})));
  EXPECT_EQ(set.count, 3);
  EXPECT_EQ(set.dimension, 3);
  EXPECT_THAT(set.data, ElementsAre(1.5F, -2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(Xvecs, ReadsBytesThatKeepNoAlignment) {
  const folder scratch;
  const vector_set set = load_vectors(
      scratch.write("x.bvecs", dimension(3) + "\x01\x02\xff" + dimension(3) + "\x04\x05\x06"));
  EXPECT_THAT(set.data, ElementsAre(1, 2, 255, 4, 5, 6));
}

TEST(Xvecs, ReadsIntegers) {
  const folder scratch;
  const vector_set set =
      load_vectors(scratch.write("x.ivecs", little<std::int32_t>({2, -5, 6, 2, 7, 1 << 24})));
  EXPECT_THAT(set.data, ElementsAre(-5, 6, 7, 1 << 24));
}

TEST(Xvecs, AnEmptyFileIsAnEmptySet) {
  const folder scratch;
  const vector_set set = load_vectors(scratch.write("x.fvecs", ""));
  EXPECT_EQ(set.count, 0);
  EXPECT_EQ(set.dimension, 0);
}

TEST(Xvecs, ReadsAndChecksNoMoreThanTheLimit) {
  const folder scratch;
  const auto file = scratch.write("x.fvecs", fvec({1, 2}) + fvec({3, 4}) + fvec({5}));
  EXPECT_THAT(load_vectors(file, {.limit = 2}).data, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(message_of([&] { load_vectors(file, {.limit = 3}); }), HasSubstr("record 2"));
}

TEST(Xvecs, NamesTheRecordThatIsWrong) {
  const folder scratch;
  const std::string good = fvec({1, 2}) + fvec({3, 4});
  const auto message = [&](const std::string& content) {
    return message_of([&] { load_vectors(scratch.write("x.fvecs", content)); });
  };
  EXPECT_THAT(message(good + fvec({1, 2, 3})),
              HasSubstr("x.fvecs: record 2 at byte 24 has dimension 3, record 0 has 2"));
  EXPECT_THAT(message(good + dimension(-2) + "12345678"), HasSubstr("record 2 at byte 24 has "
                                                                    "dimension -2"));
  EXPECT_THAT(message(good.substr(0, 23)),
              HasSubstr("record 1 at byte 12 is truncated: needs 12 bytes, has 11"));
  EXPECT_THAT(message(good + "xy"),
              HasSubstr("record 2 at byte 24 is truncated: needs 4 bytes, has 2"));
  EXPECT_THAT(message("xy"), HasSubstr("record 0 at byte 0 is truncated: needs 4 bytes, has 2"));
  EXPECT_THAT(message(dimension(0)), HasSubstr("record 0 claims dimension 0"));
  EXPECT_THAT(message(dimension(-1)), HasSubstr("record 0 claims dimension -1"));
}

TEST(Xvecs, AHugeDimensionInASmallFileIsTruncation) {
  const folder scratch;
  EXPECT_THAT(
      message_of([&] { load_vectors(scratch.write("x.fvecs", dimension(0x7fffffff) + "1234")); }),
      HasSubstr("record 0 at byte 0 is truncated: needs 8589934592 bytes, has 8"));
}

}  // namespace
}  // namespace kselect::runtime
