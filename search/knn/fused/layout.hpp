#pragma once
// The data of a fused k-NN search, as its kernels see them.
//
// Every metric is a squared distance of images (x - mean) * scale, as in runtime/distance: the
// vector itself, or for cosine and pearson a unit vector. Images are moved by a centre and scaled
// by a power of two, which changes no order of distances, and rounded to float16. Of every rounded
// vector the norm of what rounding took away is known. docs/decisions/knn.md derives the bound that
// follows.
//
// Vectors of bytes may take integers instead (simt::product::int8): then what is said of float16 is
// said of integers from -128 to 127, and products are exact. Vectors of a wide range may take
// bfloat16.
//
// Rounded vectors lie in tiles of 128 rows. A tile consists of slabs of 64 components, or of 128
// bytes, and a slab lies as it is to lie in shared memory: rows of 128 bytes, whose 16-byte chunk c
// is at place c ^ (row & 7). (The 128-byte swizzle of wgmma's descriptors. ldmatrix reads it
// without bank conflicts.) Rows beyond the count and components beyond the dimension are zero.

#include <cstdint>

#include "kselect/float16.hpp"
#include "kselect/simt/products.hpp"
#include "kselect/simt/types.hpp"

namespace kselect::search::fused {

using simt::global;

inline constexpr int tile_rows = 128;
inline constexpr int maxima_of_tile =
    4;  // groups of columns, where a row has their maxima (filter.cuh)
inline constexpr int slab_width = 64;  // components of float16
inline constexpr int slab_chunks = 8;  // 16-byte chunks of a row of a slab
inline constexpr int slab_vectors = tile_rows * slab_chunks;
inline constexpr std::int64_t slab_bytes = std::int64_t{slab_vectors} * 16;

constexpr std::int64_t tiles_of(std::int64_t rows) { return (rows + tile_rows - 1) / tile_rows; }
constexpr int width_of_slab(simt::product factors) {
  return simt::of_bytes(factors) ? 2 * slab_width : slab_width;
}
constexpr std::int64_t slabs_of(std::int64_t dimension,
                                simt::product factors = simt::product::float16) {
  return (dimension + width_of_slab(factors) - 1) / width_of_slab(factors);
}
// The place of chunk `chunk` of row `row` in a slab, in chunks.
KSELECT_HD constexpr int place_in_slab(int row, int chunk) {
  return row * slab_chunks + (chunk ^ (row & 7));
}

using chunk = simt::vec<std::uint32_t, 4>;  // 16 bytes

// The vectors that were given, and their images.
struct image_source {
  global<const float> raw;      // [count][dimension]
  global<const double> means;   // [count]; no data, as scales, if the image is the vector
  global<const double> scales;  // [count]; 0: a vector without direction
  std::int64_t dimension = 0;

  KSELECT_HD bool unit() const { return scales.data != nullptr; }
};

// Which vector lies at a position: ids[position] if there are ids, else position * stride modulo
// count, counted from `first`. A corpus takes a stride without a common divisor with its count,
// near its golden section. So any range of positions is a fair sample, however the corpus is
// sorted.
struct numbering {
  global<const std::int32_t> ids;
  std::int64_t count = 0;  // of positions
  std::int64_t stride = 1;
  std::int64_t first = 0;

  template <class Simt>
  KSELECT_HD std::int64_t operator()(Simt& simt, std::int64_t position) const {
    if (ids.data != nullptr) return simt.load(ids, position);
    return first + static_cast<std::int64_t>(static_cast<std::uint64_t>(position) *
                                             static_cast<std::uint64_t>(stride) %
                                             static_cast<std::uint64_t>(count));
  }
};

// Which vectors a query may return (kselect/knn_filter.hpp). No data: all of them.
struct admitted {
  global<const std::uint32_t> words;
  std::int64_t pitch = 0;  // words from query to query; 0: the same for all

  KSELECT_HD bool all() const { return words.data == nullptr; }
  KSELECT_HD bool each() const { return !all() && pitch != 0; }
  KSELECT_HD std::int64_t word_of(std::int64_t query, std::int64_t vector) const {
    return query * pitch + vector / 32;
  }
  template <class Simt>
  KSELECT_HD bool operator()(Simt& simt, std::int64_t query, std::int64_t vector) const {
    return (simt.load(words, word_of(query, vector)) >> vector % 32 & 1U) != 0;
  }
};

// What is known of a prepared corpus. Lengths are of scaled images.
struct corpus_facts {
  double scale = 1;        // a power of two
  double usual_error = 0;  // E0: the errors of most vectors are at most this; any number is sound
  double largest_error = 0;
  double reach = 0;       // D: distances up to which E0 bounds the error of every vector
  double usual_norm = 0;  // P: of most rounded vectors; any number is sound
  double largest_norm = 0;
  double sum_error = 0;  // A': of a product's sum, relative to its terms
};

// What a proof of inner products needs beside the rounded queries (inner.cuh). No data in other
// metrics.
struct inner_queries {
  global<const double> scales;       // [queries]: 1 / |x|
  global<const double> offsets;      // [queries]: x.c / |x|, with the corpus' centre c
  global<const double> centre_norm;  // [1]: at least |c|
};

// Rounded vectors: of a corpus, or of queries with the corpus' centre and scale.
struct rounded {
  global<chunk> slabs;     // [tiles][slabs][tile_rows][slab_chunks]
  global<double> squares;  // [tiles * tile_rows]: squared norms of the rounded vectors
  // [tiles * tile_rows]: norms of what rounding took away. +inf: unknown. 0, where products are of
  // bytes: the vector is the rounded one, moved by the centre.
  global<double> errors;
};

// Survivors of one pass of the filter. The list of row r has `splits` segments with room for `room`
// positions each; counts say how many there are, which may be more than fit. A score is the best of
// those that a thread found at once in the row, as a rule of one: it is never lower than the
// vector's own.
struct survivor_lists {
  global<std::uint32_t> counts;     // [rows][splits]
  global<std::uint32_t> positions;  // [rows][splits][room]
  global<float> scores;             // [rows][splits][room]
  int splits = 0;
  int room = 0;
};

}  // namespace kselect::search::fused
