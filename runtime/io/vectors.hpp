#pragma once
// Loads the vectors that `kselect knn` computes distances between, from files of these formats:
//
//     .npy                           a matrix of any number type, one vector a row
//     .fvecs .bvecs .ivecs           the TEXMEX sets (SIFT1M, GIST1M, ...): dimension, components
//     .idx, ...-idx3-ubyte [.gz]     MNIST and its kin; images are flattened
//     .kvec                          prepared vectors (block_file.hpp)
//     .hdf5 .h5                      ann-benchmarks: dataset `train`, or another by
//     `file.hdf5:test`
//
// Components become float32; other types are rounded. Files are not trusted: sizes are checked
// against the file's bytes before memory is allocated.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kselect::runtime {

// A view of vectors that another object owns. A smaller count makes it a view of a prefix.
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
  std::int64_t limit = 0;         // only the first `limit` vectors; 0: all. The rest is not checked
  bool allow_non_finite = false;  // else NaN and infinity are errors
  bool streams = false;           // "-" and FIFOs are .npy and are read into memory; else refused
  bool one_row = false;           // an .npy of rank 1 is one vector; else an error
};

// Loads vectors; the file name's extension tells the format. Throws failure::input, which names the
// file and the wrong offset, record or component; failure::resources if the vectors do not fit into
// memory; failure::usage for a negative limit.
vector_set load_vectors(const std::filesystem::path& file, const load_options& options = {});

// The file that holds them: "x.hdf5" of "x.hdf5:test", and other names as they are.
std::filesystem::path container_of(const std::filesystem::path& name);

}  // namespace kselect::runtime
