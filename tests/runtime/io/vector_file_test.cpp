// Files read piece by piece give the same vectors and errors as load_vectors.

#include "runtime/io/vector_file.hpp"

#include <gmock/gmock.h>
#include <numeric>

#include <gtest/gtest.h>

#include "input_files.hpp"
#include "kselect/float16.hpp"
#include "runtime/error.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/io/vectors.hpp"

namespace kselect::runtime {
namespace {

using input_files::folder;
using input_files::message_of;
using testing::AllOf;
using testing::HasSubstr;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string xvecs(std::int32_t dimension, const std::vector<std::vector<float>>& rows) {
  std::string text;
  for (const auto& row : rows) text += bytes_of(std::vector{dimension}) + bytes_of(row);
  return text;
}

// Three images of 2 x 2 bytes.
std::string idx() {
  return std::string("\0\0\x08\x03\0\0\0\x03\0\0\0\x02\0\0\0\x02", 16) + "abcdefghijkl";
}

template <class T>
std::filesystem::path npy(const folder& at, const char* name, element_type type,
                          std::array<std::int64_t, 2> shape, const std::vector<T>& values) {
  write_npy(at / name, type, shape, std::as_bytes(std::span(values)));
  return at / name;
}

void expect_pieces(const std::filesystem::path& path) {
  const vector_set whole = load_vectors(path);
  const vector_file file = vector_file::open(path);
  ASSERT_EQ(file.count(), whole.count);
  ASSERT_EQ(file.dimension(), whole.dimension);
  for (std::int64_t first = 0; first < whole.count; ++first) {
    for (std::int64_t count = 0; count <= whole.count - first; ++count) {
      std::vector<float> piece(static_cast<std::size_t>(count * whole.dimension), -1);
      file.read(first, count, piece.data());
      EXPECT_TRUE(
          std::equal(piece.begin(), piece.end(), whole.data.begin() + first * whole.dimension))
          << path << " " << first << " " << count;
    }
  }
}

TEST(VectorFile, PiecesOfEveryFormat) {
  const folder at;
  std::vector<float> floats(20);
  std::iota(floats.begin(), floats.end(), -3.5F);
  expect_pieces(npy(at, "f.npy", element_type::float32, {5, 4}, floats));
  expect_pieces(npy(at, "d.npy", element_type::float64, {2, 3}, std::vector<double>(6, 0.1)));
  const float16 halves[] = {from_float<float16>(-2.5F), from_float<float16>(0x1p-24F)};
  expect_pieces(npy(at, "h.npy", element_type::float16, {3, 2},
                    std::vector<float16>{halves[0], halves[1], halves[1], halves[0], {}, {}}));
  std::vector<float> read(6);
  vector_file::open(at / "h.npy").read(0, 3, read.data());
  EXPECT_EQ(read, (std::vector<float>{-2.5F, 0x1p-24F, 0x1p-24F, -2.5F, 0, 0}));
  expect_pieces(npy(at, "b.npy", element_type::uint8, {2, 3}, std::vector<std::uint8_t>(6, 200)));
  expect_pieces(at.write("x.fvecs", xvecs(3, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}})));
  expect_pieces(at.write("t-idx3-ubyte", idx()));
  input_files::write_hdf5(at / "a.hdf5", "train", {5, 4}, floats.data());
  expect_pieces(at / "a.hdf5");
  input_files::write_hdf5(at / "b.h5", "test", {4, 5}, floats.data());
  expect_pieces(at / "b.h5:test");
}

TEST(VectorFile, LongerThanAPiece) {
  const folder at;
  std::vector<std::uint8_t> values(3'000'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * i / 7);
  const auto path = npy(at, "long.npy", element_type::uint8, {100'000, 30}, values);
  std::vector<float> all(values.size());
  vector_file::open(path).read(0, 100'000, all.data());
  EXPECT_TRUE(std::equal(all.begin(), all.end(), values.begin()));
}

TEST(VectorFile, RefusesWhatIsDamaged) {
  const folder at;
  const auto open = [](const std::filesystem::path& path) {
    return [path] { vector_file::open(path); };
  };
  EXPECT_THAT(message_of(open(at / "none.npy")), HasSubstr("none.npy"));
  EXPECT_THAT(message_of(open(at.write("x.fvecs", xvecs(3, {{1, 2, 3}}) + "abc"))),
              HasSubstr("record 1 at byte 16 is truncated"));
  EXPECT_THAT(message_of(open(at.write("s-idx3-ubyte", idx().substr(0, 20)))),
              HasSubstr("has 4 bytes of data"));
  EXPECT_THAT(message_of(open(at.write("t-idx3-ubyte.gz", input_files::gzip(idx())))),
              AllOf(HasSubstr("t-idx3-ubyte.gz: is compressed"), HasSubstr("gunzip it first")));
  EXPECT_THAT(message_of(open(at.write("a.hdf5", "x"))), HasSubstr("not a readable HDF5 file"));
  EXPECT_THAT(
      message_of(open(npy(at, "flat.npy", element_type::float32, {0, 0}, std::vector<float>{})
                          .replace_filename("flat"))),
      HasSubstr("unknown kind of file"));
}

TEST(VectorFile, NamesWhatAPieceHoldsThatIsWrong) {
  const folder at;
  std::vector<float> values(12, 1.0F);
  values[7] = std::numeric_limits<float>::infinity();
  const auto path = npy(at, "inf.npy", element_type::float32, {4, 3}, values);
  std::vector<float> out(12);
  const vector_file file = vector_file::open(path);
  file.read(0, 2, out.data());
  EXPECT_THAT(message_of([&] { file.read(1, 3, out.data()); }),
              HasSubstr("vector 2, component 1 is inf"));

  std::string records = xvecs(3, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  records[16] = 2;
  const auto wrong = at.write("w.fvecs", records);
  EXPECT_THAT(message_of([&] { vector_file::open(wrong).read(0, 3, out.data()); }),
              HasSubstr("record 1 at byte 16 has dimension 2"));

  std::filesystem::resize_file(path, 100);
  EXPECT_THAT(message_of([&] { file.read(0, 4, out.data()); }), HasSubstr("has shrunk"));
}

TEST(VectorFile, TheFingerprintFollowsContentAndNotTheName) {
  const folder at;
  const auto a = at.write("a.fvecs", xvecs(2, {{1, 2}, {3, 4}}));
  const auto b = at.write("b.fvecs", xvecs(2, {{1, 2}, {3, 4}}));
  const auto c = at.write("c.fvecs", xvecs(2, {{1, 2}, {3, 5}}));
  const std::string print = vector_file::open(a).fingerprint();
  EXPECT_EQ(print, vector_file::open(b).fingerprint());
  EXPECT_NE(print, vector_file::open(c).fingerprint());
}

TEST(VectorFiles, FollowEachOther) {
  const folder at;
  const auto a = at.write("a.fvecs", xvecs(2, {{0, 1}, {2, 3}}));
  const auto b = at.write("b.fvecs", xvecs(2, {{4, 5}}));
  const auto c = at.write("c.fvecs", xvecs(2, {{6, 7}, {8, 9}, {10, 11}}));
  const vector_files all = vector_files::open({a, b, c});
  ASSERT_EQ(all.count(), 6);
  EXPECT_EQ(all.bytes(1, 3), 36);
  for (std::int64_t first = 0; first < 6; ++first) {
    for (std::int64_t count = 0; count <= 6 - first; ++count) {
      std::vector<float> out(static_cast<std::size_t>(2 * count));
      all.read(first, count, out.data());
      for (std::size_t i = 0; i < out.size(); ++i) {
        EXPECT_EQ(out[i], static_cast<float>(2 * first) + static_cast<float>(i));
      }
    }
  }
  EXPECT_EQ(vector_files::open({a, b, c}, 4).count(), 4);
  EXPECT_NE(vector_files::open({a, b}).fingerprint(), vector_files::open({b, a}).fingerprint());
  const auto other = at.write("o.fvecs", xvecs(3, {{1, 2, 3}}));
  EXPECT_THAT(message_of([&] { vector_files::open({a, other}); }), HasSubstr("dimension 3"));
}

}  // namespace
}  // namespace kselect::runtime
