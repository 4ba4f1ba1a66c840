// Prepared vectors are those that were given, through the page cache and past it, and a file that
// is damaged anywhere is refused with its name.

#include "runtime/io/block_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>
#include <xxhash.h>

#include "input_files.hpp"
#include "runtime/error.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/io/prepare_vectors.hpp"
#include "runtime/io/vector_file.hpp"
#include "runtime/io/vectors.hpp"

namespace kselect::runtime::block_files {
namespace {

using input_files::folder;
using input_files::message_of;
using testing::HasSubstr;

struct matrix {
  std::int64_t count, dimension;
  std::vector<float> values;
};

matrix some(std::int64_t count, std::int64_t dimension, const std::function<float(unsigned)>& at) {
  std::mt19937 bits(7);
  matrix made{count, dimension, {}};
  for (std::int64_t i = 0; i < count * dimension; ++i) {
    made.values.push_back(at(static_cast<unsigned>(bits())));
  }
  return made;
}
float byte(unsigned bits) { return static_cast<float>(bits % 256); }
float signed_byte(unsigned bits) { return static_cast<float>(bits % 256) - 128; }
float half(unsigned bits) { return static_cast<float>(bits % 2000) / 8 - 100; }
float any(unsigned bits) { return static_cast<float>(bits) / 3e7F; }

std::filesystem::path prepared(const folder& at, const matrix& m, block_shape* made = nullptr) {
  const std::array shape = {m.count, m.dimension};
  write_npy(at / "x.npy", element_type::float32, shape, std::as_bytes(std::span(m.values)));
  const block_shape written =
      prepare_vectors(vector_files::open({at / "x.npy"}), at / "x.kvec", [](std::int64_t) {});
  if (made != nullptr) *made = written;
  return at / "x.kvec";
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

TEST(BlockFile, HasTheVectorsInTheNarrowestType) {
  const folder at;
  const std::vector<std::pair<element_type, std::function<float(unsigned)>>> cases = {
      {element_type::uint8, byte},
      {element_type::int8, signed_byte},
      {element_type::float16, half},
      {element_type::float32, any},
      {element_type::float16, [](unsigned bits) { return bits % 2 == 0 ? -0.0F : 3.0F; }}};
  for (const auto& [type, value] : cases) {
    SCOPED_TRACE(to_string(type));
    const matrix m = some(37, 5, value);
    block_shape shape;
    const auto path = prepared(at, m, &shape);
    EXPECT_EQ(shape.type, type);
    EXPECT_EQ(static_cast<std::int64_t>(std::filesystem::file_size(path)), shape.file_bytes());
    EXPECT_TRUE(same_bits(load_vectors(path).data, m.values));
    const vector_set few = load_vectors(path, {.limit = 3});
    EXPECT_EQ(few.count, 3);
    EXPECT_TRUE(same_bits(few.data, std::span(m.values).first(15)));
  }
}

// Blocks of about a MiB: several, of which the last is short.
TEST(BlockFile, GivesAnyPieceOfSeveralBlocks) {
  const folder at;
  for (const std::int64_t dimension : {100, 785}) {
    const matrix m = some(3'000'000 / dimension, dimension, any);
    block_shape shape;
    const vector_file file = vector_file::open(prepared(at, m, &shape));
    EXPECT_GT(shape.blocks(), 2);
    EXPECT_EQ(shape.block_bytes() % page_bytes, 0);
    EXPECT_EQ(file.reading_bytes(), shape.block_bytes());
    const std::int64_t v = shape.block_vectors;
    for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, m.count},
                                       {v - 1, 2},
                                       {v, v},
                                       {v + 3, 1},
                                       {m.count - 1, 1},
                                       {7, 0}}) {
      std::vector<float> piece(static_cast<std::size_t>(count * dimension));
      file.read(first, count, piece.data());
      EXPECT_TRUE(same_bits(piece, std::span(m.values).subspan(
                                       static_cast<std::size_t>(first * dimension), piece.size())))
          << first << " " << count;
    }
  }
}

TEST(BlockFile, ReadsThePageCacheOrNotWithTheSameResult) {
  const folder at;
  const matrix m = some(9000, 100, any);
  const auto path = prepared(at, m);
  const input_file file = input_file::open(path);
  for (const bool past : {false, true}) {
    const block_reader reader(file, past);
    if (!past) {
      EXPECT_FALSE(reader.past_cache());
    }
    std::vector<std::byte> all;
    reader.visit(file, 1, m.count - 1, [&](std::int64_t first, std::span<const std::byte> rows) {
      EXPECT_EQ(first * 400, static_cast<std::int64_t>(all.size()) + 400);
      all.insert(all.end(), rows.begin(), rows.end());
    });
    ASSERT_EQ(all.size(), static_cast<std::size_t>((m.count - 1) * 400));
    EXPECT_EQ(std::memcmp(all.data(), m.values.data() + 100, all.size()), 0);
  }
}

TEST(BlockFile, IsKnownByItsContentWithoutReadingIt) {
  const folder at, other;
  const matrix m = some(300, 20, any);
  const std::string identity = vector_file::open(prepared(at, m)).fingerprint();
  EXPECT_EQ(vector_file::open(prepared(other, m)).fingerprint(), identity);
  matrix changed = m;
  changed.values[5000] += 1;
  EXPECT_NE(vector_file::open(prepared(other, changed)).fingerprint(), identity);
  changed = m;
  changed.count = 150;
  changed.dimension = 40;
  EXPECT_NE(vector_file::open(prepared(other, changed)).fingerprint(), identity);
}

void damage(const std::filesystem::path& path, std::int64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char old = static_cast<char>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(old ^ 4));
}

TEST(BlockFile, FindsDamageInHeaderRowsAndTable) {
  const folder at;
  const matrix m = some(40, 3, any);  // 480 bytes of rows, then zeros
  for (std::int64_t byte = 0; byte < page_bytes + 480; byte += byte < 48 ? 1 : 37) {
    if (byte >= 48 && byte < page_bytes) byte = page_bytes;
    const auto path = prepared(at, m);
    damage(path, byte);
    SCOPED_TRACE(byte);
    EXPECT_THAT(message_of([&] { load_vectors(path); }), HasSubstr("x.kvec"));
  }
  const std::int64_t table = page_bytes * 2;
  for (std::int64_t byte = table; byte < table + 24; ++byte) {
    const auto path = prepared(at, m);
    damage(path, byte);
    EXPECT_THAT(message_of([&] { vector_file::open(path); }), HasSubstr("table")) << byte;
  }
}

TEST(BlockFile, SaysWhereABlockIsDamaged) {
  const folder at;
  block_shape shape;
  const auto path = prepared(at, some(9000, 100, any), &shape);
  const std::int64_t begin = page_bytes + shape.block_bytes();
  damage(path, begin + 17);
  const vector_file file = vector_file::open(path);
  std::vector<float> row(100);
  file.read(0, 1, row.data());
  const std::string why = message_of([&] { file.read(shape.block_vectors, 1, row.data()); });
  EXPECT_THAT(why, HasSubstr("from " + std::to_string(shape.block_vectors)));
  EXPECT_THAT(why, HasSubstr("at byte " + std::to_string(begin)));
  EXPECT_THAT(why, HasSubstr("kselect knn prepare"));
}

TEST(BlockFile, RefusesWhatIsCutOrOfAnotherKind) {
  const folder at;
  const auto open = [&](const std::filesystem::path& path) {
    return message_of([&] { vector_file::open(path); });
  };
  EXPECT_THAT(open(at.write("empty.kvec", "")), HasSubstr("shorter than the header"));
  EXPECT_THAT(open(at.write("text.kvec", std::string(5000, 'x'))),
              HasSubstr("no file of prepared"));
  const auto path = prepared(at, some(40, 3, any));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_THAT(open(path), HasSubstr("its header tells of"));
}

// A header whose hash is right, before nothing.
std::string header_of(std::uint32_t type, std::int64_t count, std::int64_t dimension,
                      std::int64_t block_vectors) {
  std::string header("kvec\0\r\n\x1a\1\0\0\0", 12);
  const auto add = [&](const auto& number) {
    header.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  add(type);
  add(count);
  add(dimension);
  add(block_vectors);
  add(XXH3_64bits(header.data(), header.size()));
  header.resize(page_bytes);
  return header;
}

TEST(BlockFile, RefusesNumbersThatCannotBe) {
  const folder at;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto refused = [&](const std::string& header) {
    return message_of([&] { vector_file::open(at.write("x.kvec", header)); });
  };
  for (const std::int64_t wrong : {most, most / 4, most / 512, std::int64_t{1} << 53, -most, -1L}) {
    EXPECT_NE(refused(header_of(3, wrong, 4, 256)), "") << wrong;
    EXPECT_NE(refused(header_of(3, 4, wrong, 256)), "") << wrong;
    EXPECT_NE(refused(header_of(3, 4, 4, wrong)), "") << wrong;
  }
  EXPECT_THAT(refused(header_of(4, 4, 4, 256)), HasSubstr("cannot be")) << "no such type";
  EXPECT_THAT(refused(header_of(3, 4, 0, 256)), HasSubstr("cannot be"));
  EXPECT_THAT(refused(header_of(3, 4, 4, 0)), HasSubstr("cannot be"));
  EXPECT_THAT(refused(header_of(3, 4, 4, 100)), HasSubstr("whole pages"));
  EXPECT_THAT(refused(header_of(3, 4, 4, 256)), HasSubstr("its header tells of"));
}

TEST(BlockFile, IsWrittenWholeOrNot) {
  const folder at;
  const block_shape shape = shape_of_blocks(element_type::uint8, 4, 3);
  EXPECT_THROW(block_writer(at / "x.npy", shape), error);
  {
    block_writer writer(at / "x.kvec", shape);
    writer.append(std::vector<std::byte>(9));
    EXPECT_THROW(writer.commit(), error);
  }
  EXPECT_FALSE(std::filesystem::exists(at / "x.kvec"));
  EXPECT_THROW(shape_of_blocks(element_type::float32, std::int64_t{1} << 62, 1 << 20), error);
  const block_shape large = shape_of_blocks(element_type::uint8, std::int64_t{1} << 50, 64);
  EXPECT_THAT(message_of([&] { block_writer(at / "x.kvec", large); }, failure::output),
              HasSubstr("x.kvec: its 68720001024 MiB do not fit"));
  write_npy(at / "none.npy", element_type::float32, std::array<std::int64_t, 2>{0, 3}, {});
  EXPECT_THAT(message_of([&] {
                prepare_vectors(vector_files::open({at / "none.npy"}), at / "x.kvec",
                                [](std::int64_t) {});
              }),
              HasSubstr("no vectors"));
}

}  // namespace
}  // namespace kselect::runtime::block_files
