#pragma once
// Vectors from files, whatever their format: what `kselect knn` computes distances between.
//
//     .npy                           a matrix of any number type, one vector a row
//     .fvecs .bvecs .ivecs           the TEXMEX sets (SIFT1M, GIST1M, ...): dimension, components
//     .idx, ...-idx3-ubyte [.gz]     MNIST and its kin; images are flattened
//     .hdf5 .h5                      ann-benchmarks: dataset `train`, or another by
//     `file.hdf5:test`
//
// Components are kept as float32, to which other types are rounded. A file is an untrusted claim:
// sizes are checked against the bytes that are there before memory is allocated from them.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kselect::runtime {

// Vectors that something else holds; a prefix of a set is a view with a smaller count.
struct vector_view {
  const float* data = nullptr;  // [count][dimension], dense
  std::int64_t count = 0;
  std::int64_t dimension = 0;
};

struct vector_set {
  std::int64_t count = 0;
  std::int64_t dimension = 0;  // at least 1, unless count is 0
  std::vector<float> data;     // [count][dimension], dense
  std::string source;          // the file, with the dataset where the format has several
  std::uint64_t hash = 0;      // XXH3 of data

  vector_view view() const { return {data.data(), count, dimension}; }
};

struct load_options {
  std::string hdf5_dataset = "train";
  std::int64_t limit = 0;         // the first so many vectors; 0: all. What follows is not checked
  bool allow_non_finite = false;  // else NaN and infinity are errors
};

// Loads vectors, by the extension of the file name. Throws failure::input, naming the file and the
// offset, record or component that is wrong; failure::resources when the vectors do not fit into
// memory; failure::usage for a negative limit.
vector_set load_vectors(const std::filesystem::path& file, const load_options& options = {});

}  // namespace kselect::runtime
