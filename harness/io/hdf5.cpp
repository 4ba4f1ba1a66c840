// HDF5 as ann-benchmarks writes it: matrices `train` and `test`, one vector a row, each one run of
// bytes in the file.
//
// That is also all that is read of HDF5, for libhdf5 1.10 does not check the rest: one wrong byte
// in the extents of a chunk makes it read beyond its buffers, one in a variable-length string (the
// file's attribute `distance`; the user names the metric anyway) makes it crash or loop forever.
//
// libhdf5 reports by a stack of errors that it prints; here it is silenced and its innermost reason
// goes into ours. A dataset's extents are a claim that storage need not back (what was never
// written reads as zeros), so they are held against the bytes stored before memory is allocated.

#include <algorithm>
#include <array>
#include <filesystem>
#include <hdf5.h>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "harness/io/mapped_file.hpp"
#include "harness/io/readers.hpp"

namespace kselect {
namespace {

// An identifier of libhdf5 and the function that closes it; negative when opening failed.
template <herr_t (*Close)(hid_t)>
class handle {
 public:
  explicit handle(hid_t id) : id_(id) {}
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  ~handle() {
    if (id_ >= 0) Close(id_);
  }
  hid_t id() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

 private:
  hid_t id_;
};
using file_handle = handle<H5Fclose>;
using dataset_handle = handle<H5Dclose>;
using space_handle = handle<H5Sclose>;
using type_handle = handle<H5Tclose>;
using list_handle = handle<H5Pclose>;

// While it lives, libhdf5 prints nothing.
class silence {
 public:
  silence() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &argument_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  silence(const silence&) = delete;
  silence& operator=(const silence&) = delete;
  ~silence() { H5Eset_auto2(H5E_DEFAULT, print_, argument_); }

 private:
  H5E_auto2_t print_ = nullptr;
  void* argument_ = nullptr;
};

// The innermost reason of the last call that failed.
std::string reason() {
  std::string text = "no reason given";
  const auto take_first = [](unsigned, const H5E_error2_t* entry, void* out) -> herr_t {
    *static_cast<std::string*>(out) = entry->desc;
    return 1;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &text);
  return text;
}

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& dataset,
                       std::string_view problem) {
  fail_input(file, fmt::format("dataset '{}' {}", dataset, problem));
}

// One run of bytes in this very file.
void require_plain_storage(const std::filesystem::path& file, const std::string& name,
                           hid_t properties) {
  const H5D_layout_t layout = H5Pget_layout(properties);
  if (layout == H5D_CHUNKED) {
    fail(file, name, "is stored in chunks; rewrite it with h5repack -l CONTI -f NONE");
  }
  const bool inside = layout == H5D_CONTIGUOUS || layout == H5D_COMPACT;
  if (!inside || H5Pget_external_count(properties) != 0) {
    fail(file, name, "keeps its data in other files; copy it into one with h5repack -l CONTI");
  }
}

// The extents of the matrix, found to be backed by stored bytes.
std::array<std::int64_t, 2> extents_of(const std::filesystem::path& file, const std::string& name,
                                       const dataset_handle& dataset, const space_handle& space) {
  const int rank = H5Sget_simple_extent_ndims(space.id());
  if (rank != 2) fail(file, name, fmt::format("has rank {}; vectors are a matrix", rank));
  std::array<hsize_t, 2> extents = {};
  H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr);

  const type_handle type(H5Dget_type(dataset.id()));
  const H5T_class_t kind = type ? H5Tget_class(type.id()) : H5T_NO_CLASS;
  if (kind != H5T_FLOAT && kind != H5T_INTEGER) fail(file, name, "does not hold numbers");

  const list_handle properties(H5Dget_create_plist(dataset.id()));
  if (!properties) fail(file, name, "cannot be described: " + reason());
  require_plain_storage(file, name, properties.id());
  const std::uint64_t stored =
      std::min<std::uint64_t>(H5Dget_storage_size(dataset.id()), std::filesystem::file_size(file));
  const std::size_t element_bytes = std::max<std::size_t>(H5Tget_size(type.id()), 1);
  const auto elements = static_cast<unsigned __int128>(extents[0]) * extents[1];
  // With no rows the product says nothing of the dimension, which must still fit its type.
  if (elements > stored / element_bytes || !std::in_range<std::int64_t>(extents[0]) ||
      !std::in_range<std::int64_t>(extents[1])) {
    fail(file, name,
         fmt::format("claims shape ({}, {}), but only {} bytes of it are stored", extents[0],
                     extents[1], stored));
  }
  return {static_cast<std::int64_t>(extents[0]), static_cast<std::int64_t>(extents[1])};
}

}  // namespace

vector_set read_hdf5(const std::filesystem::path& file, const std::string& dataset,
                     std::int64_t limit) {
  mapped_file::open(file);  // a missing or special file gets its usual error
  // What a damaged file left open would make libhdf5 complain when the program ends.
  H5dont_atexit();
  const silence quiet;
  // Close for good: after some errors libhdf5 keeps objects, and with them the file, open.
  const list_handle access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
  const file_handle container(H5Fopen(file.c_str(), H5F_ACC_RDONLY, access.id()));
  if (!container) fail_input(file, "is not a readable HDF5 file: " + reason());
  const dataset_handle matrix(H5Dopen2(container.id(), dataset.c_str(), H5P_DEFAULT));
  if (!matrix) fail(file, dataset, "cannot be opened: " + reason());
  const space_handle space(H5Dget_space(matrix.id()));
  if (!space) fail(file, dataset, "has no extents: " + reason());
  const auto [count, dimension] = extents_of(file, dataset, matrix, space);

  vector_set set = allocate_vectors(file, count, dimension, limit);
  if (set.data.empty()) return set;
  const std::array<hsize_t, 2> start = {0, 0};
  const std::array<hsize_t, 2> extents = {static_cast<hsize_t>(set.count),
                                          static_cast<hsize_t>(set.dimension)};
  const space_handle memory(H5Screate_simple(2, extents.data(), nullptr));
  if (H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, extents.data(),
                          nullptr) < 0 ||
      H5Dread(matrix.id(), H5T_NATIVE_FLOAT, memory.id(), space.id(), H5P_DEFAULT,
              set.data.data()) < 0) {
    fail(file, dataset, "cannot be read: " + reason());
  }
  return set;
}

}  // namespace kselect
