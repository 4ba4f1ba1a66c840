// Files in MNIST's idx format, plain and compressed, valid and invalid.

#include <gmock/gmock.h>

#include "runtime/io/vectors.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::runtime {
namespace {

using input_files::big;
using input_files::folder;
using input_files::gzip;
using input_files::idx;
using input_files::message_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Idx, FlattensImages) {
  const folder scratch;
  const vector_set set =
      load_vectors(scratch.write("t-images-idx3-ubyte", idx(8, {2, 2, 2}, "\1\2\3\4\5\6\7\xff")));
  EXPECT_EQ(set.count, 2);
  EXPECT_EQ(set.dimension, 4);
  EXPECT_THAT(set.data, ElementsAre(1, 2, 3, 4, 5, 6, 7, 255));
}

TEST(Idx, ReadsEveryElementType) {
  const folder scratch;
  const auto loaded = [&](unsigned char code, const std::string& data) {
    return load_vectors(scratch.write("x.idx", idx(code, {1, 2}, data))).data;
  };
  EXPECT_THAT(loaded(0x08, big<std::uint8_t>({0, 255})), ElementsAre(0, 255));
  EXPECT_THAT(loaded(0x09, big<std::int8_t>({-128, 127})), ElementsAre(-128, 127));
  EXPECT_THAT(loaded(0x0B, big<std::int16_t>({-300, 300})), ElementsAre(-300, 300));
  EXPECT_THAT(loaded(0x0C, big<std::int32_t>({-70000, 70000})), ElementsAre(-70000, 70000));
  EXPECT_THAT(loaded(0x0D, big<float>({1.5F, -2})), ElementsAre(1.5F, -2));
  EXPECT_THAT(loaded(0x0E, big<double>({1.5, -2})), ElementsAre(1.5F, -2));
}

TEST(Idx, ReadsCompressedFilesUnderTheirUsualNames) {
  const folder scratch;
  const std::string content = gzip(idx(8, {2, 1, 2}, "\1\2\3\4"));
  for (const char* const name :
       {"t10k-images-idx3-ubyte.gz", "t10k-images.idx3-ubyte.gz", "x.idx.gz"}) {
    EXPECT_THAT(load_vectors(scratch.write(name, content)).data, ElementsAre(1, 2, 3, 4)) << name;
  }
}

TEST(Idx, ReadsAGzipFileOfSeveralMembers) {
  const folder scratch;
  const std::string content = idx(8, {2, 2}, "\1\2\3\4");
  const auto file =
      scratch.write("x.idx.gz", gzip(content.substr(0, 7)) + gzip("") + gzip(content.substr(7)));
  EXPECT_THAT(load_vectors(file).data, ElementsAre(1, 2, 3, 4));
}

TEST(Idx, ReadsHighlyCompressibleData) {
  const folder scratch;
  const auto file =
      scratch.write("x.idx.gz", gzip(idx(8, {1000, 10000}, std::string(10000000, 0))));
  EXPECT_EQ(load_vectors(file).data, std::vector<float>(10000000));
}

TEST(Idx, ReadsNoMoreThanTheLimit) {
  const folder scratch;
  const std::string content = idx(8, {3, 2}, "\1\2\3\4\5\6");
  EXPECT_THAT(load_vectors(scratch.write("x.idx", content), {.limit = 1}).data, ElementsAre(1, 2));
  EXPECT_THAT(load_vectors(scratch.write("x.idx.gz", gzip(content)), {.limit = 2}).data,
              ElementsAre(1, 2, 3, 4));
}

TEST(Idx, AFileWithoutVectorsIsAnEmptySet) {
  const folder scratch;
  const vector_set set = load_vectors(scratch.write("x.idx", idx(8, {0, 28, 28}, "")));
  EXPECT_EQ(set.count, 0);
  EXPECT_EQ(set.dimension, 784);
}

struct bad_file {
  const char* name;
  std::string content;
  const char* message;
};

std::vector<bad_file> bad_files() {
  const std::string good = idx(8, {2, 2}, "\1\2\3\4");
  const std::string packed = gzip(good);
  std::string corrupt = packed;
  corrupt[12] = static_cast<char>(corrupt[12] ^ 0x55);
  std::string wrong_sum = packed;
  wrong_sum[packed.size() - 8] = static_cast<char>(wrong_sum[packed.size() - 8] ^ 1);
  return {
      {"x.idx", "", "is too short for an idx header"},
      {"x.idx", good.substr(0, 9), "ends within its idx header"},
      {"x.idx", "\1" + good.substr(1), "is not an idx file"},
      {"x.idx", idx(0x0A, {2, 2}, "1234"), "is not an idx file"},
      {"x.idx", packed, "is not an idx file"},
      {"labels-idx1-ubyte", idx(8, {4}, "1234"), "has rank 1; vectors need 2 or more"},
      {"x.idx", idx(8, {}, ""), "has rank 0"},
      {"x.idx", good.substr(0, good.size() - 1), "needs 4 bytes of data, it has 3"},
      {"x.idx", good + "x", "has bytes after the data"},
      {"x.idx", idx(8, {2, 0}, ""), "have no components"},
      {"x.idx", idx(8, {-1, -1, 1}, ""), "claims the absurd shape (4294967295, 4294967295, 1)"},
      {"x.idx", idx(8, {0x7fffffff, 0x7fffffff}, "1234"),
       "needs 4611686014132420609 bytes of "
       "data, it has 4"},
      {"x.idx.gz", gzip(idx(8, {0x7fffffff, 0x7fffffff}, "1234")), "of data, it has at most "},
      {"x.idx.gz", gzip(idx(8, {2, 3}, "1234")), "needs 6 bytes of data, it has 4"},
      {"x.idx.gz", gzip(good + "x"), "has bytes after the data"},
      {"x.idx.gz", good, "is damaged gzip: incorrect header check"},
      {"x.idx.gz", "", "is truncated: its gzip stream does not end"},
      {"x.idx.gz", packed.substr(0, packed.size() - 1), "its gzip stream does not end"},
      {"x.idx.gz", packed + "junk", "is damaged gzip"},
      {"x.idx.gz", corrupt, "is damaged gzip"},
      {"x.idx.gz", wrong_sum, "is damaged gzip: incorrect data check"},
  };
}

TEST(Idx, SaysWhatIsWrongWithABadFile) {
  const folder scratch;
  for (const bad_file& bad : bad_files()) {
    const auto file = scratch.write(bad.name, bad.content);
    const std::string message = message_of([&] { load_vectors(file); });
    EXPECT_THAT(message, HasSubstr(bad.message));
    EXPECT_THAT(message, testing::StartsWith(file.string() + ": "));
  }
}

}  // namespace
}  // namespace kselect::runtime
