// HDF5 files of ann-benchmarks: matrices `train` and `test`, one vector a row, contiguous in the
// file.
//
// libhdf5 1.10 does not check what it reads: one wrong byte in the heap of a group's names makes it
// crash, one in a variable-length string crash or loop forever. So a child process calls it
// (isolated_reader.hpp). It also reads beyond its buffers for a wrong extent of a chunk, which
// would be a wrong answer: chunks are refused. The file's attribute `distance` is not read; the
// user names the metric.
//
// libhdf5 prints a stack of errors. Here it is silenced, and its innermost reason goes into our
// message. A dataset's extents may exceed the stored bytes, because unwritten parts read as zeros.
// So they are compared with the stored bytes before memory is allocated.

#include <algorithm>
#include <array>
#include <filesystem>
#include <hdf5.h>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/io/input_file.hpp"
#include "runtime/io/isolated_reader.hpp"
#include "runtime/io/readers.hpp"

namespace kselect::runtime {
namespace {

// An identifier of libhdf5 and the function that closes it; negative if opening failed.
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

// From then on, libhdf5 prints nothing.
struct silence {
  silence() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }
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

// Throws failure::input unless the dataset is stored in this file without chunks.
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

// The extents of the matrix. The file has bytes for all of it.
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
  // Without rows the product does not bound the dimension, which must still fit its type.
  if (elements > stored / element_bytes || !std::in_range<std::int64_t>(extents[0]) ||
      !std::in_range<std::int64_t>(extents[1])) {
    fail(file, name,
         fmt::format("claims shape ({}, {}), but only {} bytes of it are stored", extents[0],
                     extents[1], stored));
  }
  return {static_cast<std::int64_t>(extents[0]), static_cast<std::int64_t>(extents[1])};
}

struct stored_type {
  hid_t type;
  element_type element;
  std::endian order;
};

// The library's types are variables that it sets when it is first used.
std::array<stored_type, 14> types_read_in_pieces() {
  return {{{H5T_IEEE_F32LE, element_type::float32, std::endian::little},
           {H5T_IEEE_F32BE, element_type::float32, std::endian::big},
           {H5T_IEEE_F64LE, element_type::float64, std::endian::little},
           {H5T_IEEE_F64BE, element_type::float64, std::endian::big},
           {H5T_STD_I8LE, element_type::int8, std::endian::little},
           {H5T_STD_I8BE, element_type::int8, std::endian::big},
           {H5T_STD_U8LE, element_type::uint8, std::endian::little},
           {H5T_STD_U8BE, element_type::uint8, std::endian::big},
           {H5T_STD_I16LE, element_type::int16, std::endian::little},
           {H5T_STD_I16BE, element_type::int16, std::endian::big},
           {H5T_STD_I32LE, element_type::int32, std::endian::little},
           {H5T_STD_I32BE, element_type::int32, std::endian::big},
           {H5T_STD_I64LE, element_type::int64, std::endian::little},
           {H5T_STD_I64BE, element_type::int64, std::endian::big}}};
}

// A matrix in an open file.
class hdf5_matrix {
 public:
  hdf5_matrix(const std::filesystem::path& file, const std::string& dataset)
      : file_(file),
        name_(dataset),
        access_(close_for_good()),
        container_(H5Fopen(file.c_str(), H5F_ACC_RDONLY, access_.id())),
        matrix_(open_dataset()),
        space_(H5Dget_space(matrix_.id())) {
    if (!space_) fail(file, dataset, "has no extents: " + reason());
    extents_ = extents_of(file, dataset, matrix_, space_);
  }

  std::int64_t count() const { return extents_[0]; }
  std::int64_t dimension() const { return extents_[1]; }

  // Vectors from `first` on, as many as `out` holds.
  void read(std::int64_t first, std::span<float> out) const {
    const std::array<hsize_t, 2> start = {static_cast<hsize_t>(first), 0};
    const std::array<hsize_t, 2> extents = {static_cast<hsize_t>(std::ssize(out) / dimension()),
                                            static_cast<hsize_t>(dimension())};
    const space_handle memory(H5Screate_simple(2, extents.data(), nullptr));
    if (H5Sselect_hyperslab(space_.id(), H5S_SELECT_SET, start.data(), nullptr, extents.data(),
                            nullptr) < 0 ||
        H5Dread(matrix_.id(), H5T_NATIVE_FLOAT, memory.id(), space_.id(), H5P_DEFAULT, out.data()) <
            0) {
      fail(file_, name_, "cannot be read: " + reason());
    }
  }

  vector_layout layout() const {
    const stored_type type = stored();
    const std::int64_t stride = dimension() * size_of(type.element);
    return {.file = file_,
            .count = count(),
            .dimension = dimension(),
            .type = type.element,
            .order = type.order,
            .offset = offset_of_rows(stride),
            .stride = stride};
  }

 private:
  // The type of the numbers in the file.
  stored_type stored() const {
    const type_handle type(H5Dget_type(matrix_.id()));
    const auto types = types_read_in_pieces();
    const auto found = std::ranges::find_if(
        types, [&](const stored_type& t) { return H5Tequal(type.id(), t.type) > 0; });
    if (found == types.end()) {
      fail(file_, name_,
           "holds numbers of a type that is not read piece by piece; rewrite it as "
           "float32");
    }
    return *found;
  }
  // Where the first row is in the file, in bytes. `stride`: the bytes of a row.
  std::int64_t offset_of_rows(std::int64_t stride) const {
    if (count() == 0) return 0;
    const haddr_t offset = H5Dget_offset(matrix_.id());
    if (offset == HADDR_UNDEF) {
      fail(file_, name_, "is not stored contiguously; rewrite it with h5repack -l CONTI");
    }
    // The extents may be wrong, so check that the data end within the file.
    const auto end =
        static_cast<unsigned __int128>(offset) +
        static_cast<unsigned __int128>(count()) * static_cast<unsigned __int128>(stride);
    if (end > std::filesystem::file_size(file_)) {
      fail(file_, name_, "claims to lie beyond the end of the file");
    }
    return static_cast<std::int64_t>(offset);
  }
  // After some errors libhdf5 keeps objects open, which keep the file open.
  static list_handle close_for_good() {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    return list_handle(access);
  }
  hid_t open_dataset() const {
    if (!container_) fail_input(file_, "is not a readable HDF5 file: " + reason());
    std::string elsewhere;
    const list_handle access(H5Pcreate(H5P_DATASET_ACCESS));
    H5Pset_elink_cb(access.id(), note_and_refuse, &elsewhere);
    const hid_t opened = H5Dopen2(container_.id(), name_.c_str(), access.id());
    if (!elsewhere.empty()) {
      fail(file_, name_, fmt::format("is a link to another file; name that file: {}", elsewhere));
    }
    if (opened < 0) fail(file_, name_, "cannot be opened: " + reason());
    return opened;
  }
  // An external link is not followed: the file it leads to would be read without being checked,
  // and its bytes looked for in this one.
  static herr_t note_and_refuse(const char*, const char*, const char* file, const char* object,
                                unsigned*, hid_t, void* elsewhere) {
    *static_cast<std::string*>(elsewhere) = fmt::format("{}:{}", file, object);
    return -1;
  }

  const std::filesystem::path& file_;
  const std::string& name_;
  silence quiet_;
  list_handle access_;
  file_handle container_;
  dataset_handle matrix_;
  space_handle space_;
  std::array<std::int64_t, 2> extents_{};
};

constexpr char library[] = "libhdf5";

// Far more than a sound file takes; a damaged one can keep libhdf5 busy without an end.
int seconds_for(const std::filesystem::path& file) {
  constexpr std::uintmax_t bytes_per_second = 20 << 20;
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(file, unknown);
  return unknown
             ? 10
             : static_cast<int>(10 + std::min<std::uintmax_t>(bytes / bytes_per_second, 1 << 20));
}

template <class Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

// Sends a matrix: its extents, then the vectors.
void send_vectors(const std::filesystem::path& file, const std::string& dataset, std::int64_t limit,
                  const isolated_reader::results& send) {
  constexpr std::int64_t piece_components = 1 << 20;
  const hdf5_matrix matrix(file, dataset);
  const std::array<std::int64_t, 2> extents = {matrix.count(), matrix.dimension()};
  send(bytes_of(extents));
  const std::int64_t count = limit == 0 ? matrix.count() : std::min(limit, matrix.count());
  if (count == 0 || matrix.dimension() == 0) return;
  const std::int64_t piece = std::max<std::int64_t>(1, piece_components / matrix.dimension());
  std::vector<float> vectors;
  for (std::int64_t first = 0; first < count; first += piece) {
    const std::int64_t now = std::min(piece, count - first);
    vectors.resize(static_cast<std::size_t>(now * matrix.dimension()));
    matrix.read(first, vectors);
    send(std::as_bytes(std::span(vectors)));
  }
}

// A vector_layout without the file's name.
struct sent_layout {
  std::int64_t count, dimension, offset, stride;
  element_type type;
  bool little;
};

}  // namespace

vector_set read_hdf5(const std::filesystem::path& file, const std::string& dataset,
                     std::int64_t limit) {
  const input_file input = input_file::open(file);  // a missing or special file: its usual error
  isolated_reader child(
      library, file, seconds_for(file),
      [&](const isolated_reader::results& send) { send_vectors(file, dataset, limit, send); });
  std::array<std::int64_t, 2> extents{};
  child.read(std::as_writable_bytes(std::span(extents)));
  vector_set set = allocate_vectors(file, extents[0], extents[1], limit);
  child.read(std::as_writable_bytes(std::span(set.data)));
  input.require_in_place();
  return set;
}

vector_layout hdf5_layout(const std::filesystem::path& file, const std::string& dataset) {
  input_file::open(file);
  isolated_reader child(
      library, file, seconds_for(file), [&](const isolated_reader::results& send) {
        const vector_layout all = hdf5_matrix(file, dataset).layout();
        send(bytes_of(sent_layout{all.count, all.dimension, all.offset, all.stride, all.type,
                                  all.order == std::endian::little}));
      });
  sent_layout sent{};
  child.read(std::as_writable_bytes(std::span(&sent, 1)));
  return {.file = file,
          .count = sent.count,
          .dimension = sent.dimension,
          .type = sent.type,
          .order = sent.little ? std::endian::little : std::endian::big,
          .offset = sent.offset,
          .stride = sent.stride};
}

}  // namespace kselect::runtime
