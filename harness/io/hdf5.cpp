// HDF5 in the layout of ann-benchmarks: matrices `train` and `test`, one vector a row.
//
// The file's attribute `distance`, which names a metric, is not read: the user names the metric,
// and it is a variable-length string, for which one wrong byte makes libhdf5 1.10 crash or loop
// forever.
//
// libhdf5 reports by a stack of errors that it prints; here it is silenced and its innermost reason
// goes into ours. A dataset's extents are a claim that storage need not back (chunks never written
// read as zeros), so they are held against the bytes stored before memory is allocated.

#include <algorithm>
#include <array>
#include <hdf5.h>
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

// Only storage inside the file, no data from files that it names, and of the matrix's rank.
void require_sound_storage(const std::filesystem::path& file, const std::string& name,
                           hid_t properties) {
  const H5D_layout_t layout = H5Pget_layout(properties);
  const bool inside = layout == H5D_CONTIGUOUS || layout == H5D_CHUNKED || layout == H5D_COMPACT;
  if (!inside || H5Pget_external_count(properties) != 0) {
    fail(file, name, "keeps its data in other files; copy it into one (h5repack)");
  }
  // libhdf5 1.10 does not compare the two ranks, and reads garbage as the extents of the chunks.
  std::array<hsize_t, 2> chunk = {};
  if (layout == H5D_CHUNKED && H5Pget_chunk(properties, 2, chunk.data()) != 2) {
    fail(file, name, "is damaged: its chunks have another rank than itself");
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
  require_sound_storage(file, name, properties.id());
  const bool filtered = H5Pget_nfilters(properties.id()) > 0;
  const auto stored = static_cast<unsigned __int128>(H5Dget_storage_size(dataset.id()));
  const auto file_bytes = static_cast<unsigned __int128>(std::filesystem::file_size(file));
  const auto room =
      std::min(stored, file_bytes) * static_cast<unsigned>(filtered ? max_deflate_ratio : 1);
  // Each factor has 64 bits; the size of an element is small, but multiplied last it could wrap.
  const auto element_bytes = std::max<std::size_t>(H5Tget_size(type.id()), 1);
  const auto elements = static_cast<unsigned __int128>(extents[0]) * extents[1];
  if (elements > room / element_bytes) {
    fail(file, name,
         fmt::format("claims shape ({}, {}), but only {} bytes of it are stored", extents[0],
                     extents[1], static_cast<std::uint64_t>(stored)));
  }
  return {static_cast<std::int64_t>(extents[0]), static_cast<std::int64_t>(extents[1])};
}

}  // namespace

vector_set read_hdf5(const std::filesystem::path& file, const std::string& dataset,
                     std::int64_t limit) {
  mapped_file::open(file);  // a missing or special file gets its usual error
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
