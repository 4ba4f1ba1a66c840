// The parts of load_vectors common to all formats: dispatch on the name, conversion, limit, the
// refusal of components that are not finite, and the hash.

#include "runtime/io/vectors.hpp"

#include <cmath>
#include <gmock/gmock.h>
#include <limits>

#include <xxhash.h>

#include "tests/runtime/io/input_files.hpp"

namespace kselect::runtime {
namespace {

using input_files::folder;
using input_files::idx;
using input_files::little;
using input_files::message_of;
using input_files::npy;
using input_files::npy_literal;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Vectors, ReadsAnNpyMatrixOfAnyNumberType) {
  const folder scratch;
  const auto loaded = [&](const char* descr, const std::string& data) {
    return load_vectors(scratch.write("x.npy", npy(npy_literal(descr, "(2, 1)"), data))).data;
  };
  EXPECT_THAT(loaded("|i1", little<std::int8_t>({-128, 127})), ElementsAre(-128, 127));
  EXPECT_THAT(loaded("|u1", little<std::uint8_t>({0, 255})), ElementsAre(0, 255));
  EXPECT_THAT(loaded("<i2", little<std::int16_t>({-32768, 1})), ElementsAre(-32768, 1));
  EXPECT_THAT(loaded("<i4", little<std::int32_t>({-7, 1 << 24})), ElementsAre(-7, 1 << 24));
  EXPECT_THAT(loaded("<i8", little<std::int64_t>({-7, 8})), ElementsAre(-7, 8));
  EXPECT_THAT(loaded("<f4", little<float>({0.1F, -0.0F})), ElementsAre(0.1F, 0));
  EXPECT_THAT(loaded("<f8", little<double>({0.1, -1e30})), ElementsAre(0.1F, -1e30F));
}

TEST(Vectors, TellsShapeSourceAndHash) {
  const folder scratch;
  const auto file =
      scratch.write("x.npy", npy(npy_literal("<f4", "(2, 3)"), little<float>({1, 2, 3, 4, 5, 6})));
  const vector_set set = load_vectors(file);
  EXPECT_EQ(set.count, 2);
  EXPECT_EQ(set.dimension, 3);
  EXPECT_EQ(set.source, file.string());
  EXPECT_EQ(set.hash, XXH3_64bits(set.data.data(), 6 * sizeof(float)));
  EXPECT_EQ(set.view().data, set.data.data());
  EXPECT_EQ(set.view().count, 2);
  EXPECT_EQ(set.view().dimension, 3);
}

TEST(Vectors, TheSameVectorsHaveTheSameHashInEveryFormat) {
  const folder scratch;
  const std::uint64_t hash =
      load_vectors(scratch.write("x.npy", npy(npy_literal("|u1", "(1, 2)"), "\5\6"))).hash;
  EXPECT_EQ(load_vectors(scratch.write("x.idx", idx(8, {1, 2}, "\5\6"))).hash, hash);
  EXPECT_EQ(load_vectors(scratch.write("x.bvecs", little<std::int32_t>({2}) + "\5\6")).hash, hash);
  EXPECT_NE(load_vectors(scratch.write("x.idx", idx(8, {1, 2}, "\5\7"))).hash, hash);
}

TEST(Vectors, ReadsNoMoreThanTheLimit) {
  const folder scratch;
  const auto file =
      scratch.write("x.npy", npy(npy_literal("<f4", "(3, 1)"), little<float>({1, 2, 3})));
  EXPECT_THAT(load_vectors(file, {.limit = 2}).data, ElementsAre(1, 2));
  EXPECT_EQ(load_vectors(file, {.limit = 2}).count, 2);
  EXPECT_THAT(load_vectors(file, {.limit = 9}).data, ElementsAre(1, 2, 3));
  EXPECT_THAT(message_of([&] { load_vectors(file, {.limit = -1}); }, failure::usage),
              HasSubstr("limit -1 is negative"));
}

TEST(Vectors, AMatrixWithoutRowsIsAnEmptySet) {
  const folder scratch;
  const vector_set set =
      load_vectors(scratch.write("x.npy", npy(npy_literal("<f4", "(0, 3)"), "")));
  EXPECT_EQ(set.count, 0);
  EXPECT_EQ(set.dimension, 3);
  EXPECT_THAT(set.data, IsEmpty());
}

TEST(Vectors, RefusesMatricesThatAreNone) {
  const folder scratch;
  const auto message = [&](const std::string& content) {
    return message_of([&] { load_vectors(scratch.write("x.npy", content)); });
  };
  EXPECT_THAT(message(npy(npy_literal("<f4", "(3, 0)"), "")), HasSubstr("have no components"));
  EXPECT_THAT(message(npy(npy_literal("|u1", "(2,)"), "ab")), HasSubstr("has rank 1"));
  EXPECT_THAT(message(npy(npy_literal("|u1", "(1, 2, 1)"), "ab")), HasSubstr("has rank 3"));
  EXPECT_THAT(message(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2)}", "abcd")),
              HasSubstr("Fortran order; save it as numpy.ascontiguousarray(x)"));
}

TEST(Vectors, NamesTheComponentThatIsNotFinite) {
  const folder scratch;
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), -1e39}) {
    const auto file = scratch.write(
        "x.npy", npy(npy_literal("<f8", "(2, 3)"), little<double>({1, 2, 3, 4, 5, bad})));
    EXPECT_THAT(message_of([&] { load_vectors(file); }), HasSubstr("vector 1, component 2 is "));
    EXPECT_FALSE(std::isfinite(load_vectors(file, {.allow_non_finite = true}).data[5]));
    EXPECT_EQ(load_vectors(file, {.limit = 1}).count, 1);
  }
}

TEST(Vectors, AnUnknownNameIsToldTheKnownOnes) {
  const folder scratch;
  for (const char* const name : {"x.csv", "x", "x.npy.gz", "x.fvecs.gz", "idx3", "xidx3-ubyte",
                                 "x.hdf5x:train", "x-idx-ubyte", "npy"}) {
    const std::string message = message_of([&] { load_vectors(scratch.write(name, "x")); });
    EXPECT_THAT(message, HasSubstr(name));
    EXPECT_THAT(message,
                HasSubstr("expected .npy, .fvecs, .bvecs, .ivecs, .kvec, .hdf5, .h5, .idx"));
  }
}

TEST(Vectors, AMissingFileIsNamedInEveryFormat) {
  const folder scratch;
  for (const char* const name : {"x.npy", "x.fvecs", "x.bvecs", "x.ivecs", "x.idx", "x.idx.gz",
                                 "x-idx3-ubyte", "x.hdf5", "x.h5", "x.h5:test"}) {
    EXPECT_THAT(message_of([&] { load_vectors(scratch / name); }),
                testing::AllOf(HasSubstr((scratch / "x").string()),
                               HasSubstr("cannot be read: No such file or directory")))
        << name;
  }
}

}  // namespace
}  // namespace kselect::runtime
