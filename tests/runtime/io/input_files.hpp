#pragma once
// Small input files for the tests of the readers. They are written byte by byte as the formats
// specify, so that no test depends on the project's own writers.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <hdf5.h>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "runtime/error.hpp"

namespace kselect::runtime::input_files {

// A folder for one test; the destructor removes it with its content.
class folder {
 public:
  folder() : path_(testing::TempDir() + "kselect-io-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(path_); }

  std::filesystem::path operator/(std::string_view name) const {
    return std::filesystem::path(path_) / name;
  }
  // Writes a file of that content and returns its path.
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    std::filesystem::path file = *this / name;
    std::ofstream(file, std::ios::binary) << content;
    return file;
  }
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

 private:
  std::string path_;
};

inline std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The bytes of consecutive numbers, little-endian (the host's order) or big-endian.
template <class T>
std::string little(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
template <class T>
std::string big(const std::vector<T>& values) {
  std::string bytes;
  for (const T value : values) {
    const std::string one = little(std::vector<T>{value});
    bytes.append(one.rbegin(), one.rend());
  }
  return bytes;
}

// An npy file of that dict literal, padded as NumPy pads, with a header of `version`.
inline std::string npy(std::string literal, std::string_view data, char version = 1) {
  const std::size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + literal.size() + 1) % 64 != 0) literal += ' ';
  literal += '\n';
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  const auto length = static_cast<std::uint32_t>(literal.size());
  file += little<std::uint32_t>({length}).substr(0, prefix - 8);
  return file + literal + std::string(data);
}

inline std::string npy_literal(std::string_view descr, std::string_view shape) {
  return "{'descr': '" + std::string(descr) +
         "', 'fortran_order': False, 'shape': " + std::string(shape) + ", }";
}

// An idx file: type code, extents, and data in the file's byte order.
inline std::string idx(unsigned char code, const std::vector<std::int32_t>& extents,
                       std::string_view data) {
  std::string file = {'\0', '\0', static_cast<char>(code), static_cast<char>(extents.size())};
  return file + big(extents) + std::string(data);
}

inline std::string gzip(std::string_view content) {
  z_stream stream = {};
  if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  std::string out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// An HDF5 file as ann-benchmarks writes it, with one float32 dataset (null: no data is written) and
// the attribute `distance`, a variable-length string.
inline void write_hdf5(const std::filesystem::path& path, const char* dataset,
                       std::array<hsize_t, 2> extents, const float* data) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, extents.data(), nullptr);
  const hid_t matrix =
      H5Dcreate2(file, dataset, H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (data != nullptr) H5Dwrite(matrix, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, H5T_VARIABLE);
  const hid_t scalar = H5Screate(H5S_SCALAR);
  const hid_t attribute = H5Acreate2(file, "distance", text, scalar, H5P_DEFAULT, H5P_DEFAULT);
  const char* const distance = "euclidean";
  H5Awrite(attribute, text, &distance);
  H5Aclose(attribute);
  H5Sclose(scalar);
  H5Tclose(text);
  H5Dclose(matrix);
  H5Sclose(space);
  ASSERT_GE(H5Fclose(file), 0);
}

// The message of the error of that category that `action` throws; otherwise a test failure.
inline std::string message_of(const std::function<void()>& action,
                              failure category = failure::input) {
  try {
    action();
  } catch (const error& e) {
    EXPECT_EQ(static_cast<int>(e.category()), static_cast<int>(category)) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace kselect::runtime::input_files
