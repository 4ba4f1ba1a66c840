// Chooses the reader by the file name. Then does what all formats share: it checks that components
// are finite, and hashes the data, so that a result can be tied to its input.

#include "runtime/io/vectors.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <xxhash.h>

#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/block_file.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/io/readers.hpp"
#include "runtime/io/stream.hpp"
#include "runtime/io/vector_file.hpp"

namespace kselect::runtime {
namespace {

constexpr std::string_view known_names =
    ".npy, .fvecs, .bvecs, .ivecs, .kvec, .hdf5, .h5, .idx or *-idx3-ubyte (both also with .gz)";

// `t10k-images-idx3-ubyte`, `train-images.idx3-ubyte`, `x.idx`.
bool is_idx_name(std::string_view name) {
  if (name.ends_with(".idx")) return true;
  const std::size_t at = name.rfind("idx");
  return at != std::string_view::npos && at > 0 && (name[at - 1] == '-' || name[at - 1] == '.') &&
         at + 4 < name.size() && name[at + 3] >= '1' && name[at + 3] <= '9' && name[at + 4] == '-';
}

bool is_hdf5_name(std::string_view name) {
  return name.ends_with(".hdf5") || name.ends_with(".h5");
}

struct hdf5_path {
  std::filesystem::path file;
  std::string dataset;
};

// `file.hdf5` or `file.hdf5:dataset`; empty for other names.
std::optional<hdf5_path> parse_hdf5_path(const std::string& name, const std::string& preset) {
  if (is_hdf5_name(name)) return hdf5_path{name, preset};
  const std::size_t colon = name.rfind(':');
  if (colon == std::string::npos || !is_hdf5_name(name.substr(0, colon))) return std::nullopt;
  return hdf5_path{name.substr(0, colon), name.substr(colon + 1)};
}

void require_matrix(const std::filesystem::path& file, const std::vector<std::int64_t>& shape,
                    bool fortran_order) {
  if (shape.size() == 1) {
    fail_input(file,
               "has rank 1; vectors are a matrix, one a row: save x[None, :] if it is one "
               "vector, x[:, None] if each number is a vector");
  }
  if (shape.size() != 2) {
    fail_input(file, fmt::format("has rank {}; vectors are a matrix, one a row", shape.size()));
  }
  if (fortran_order) {
    fail_input(file, "is in Fortran order; save it as numpy.ascontiguousarray(x)");
  }
}

vector_set read_npy_vectors(const npy_file& array, const std::filesystem::path& file,
                            const load_options& options) {
  std::vector<std::int64_t> shape = array.shape();
  const bool one = options.one_row && shape.size() == 1;
  if (one) shape.insert(shape.begin(), 1);
  require_matrix(file, shape, array.fortran_order() && !one);
  vector_set set = allocate_vectors(file, shape[0], shape[1], options.limit);
  convert_elements(array.type(), std::endian::little, array.data(), set.data);
  array.require_unchanged();
  return set;
}

vector_layout layout_of_blocks(const std::filesystem::path& file) {
  const block_shape shape = block_reader(input_file::open(file), false).shape();
  return {.file = file,
          .count = shape.count,
          .dimension = shape.dimension,
          .type = shape.type,
          .offset = page_bytes,
          .stride = shape.stride(),
          .in_blocks = true};
}

vector_set read_blocks(const std::filesystem::path& file, std::int64_t limit) {
  const vector_file blocks = vector_file::open(file, limit);
  vector_set set = allocate_vectors(file, blocks.count(), blocks.dimension(), limit);
  blocks.read(0, set.count, set.data.data());
  blocks.require_unchanged();
  return set;
}

vector_set read(const std::filesystem::path& file, const load_options& options) {
  if (options.streams && is_stream(file)) {
    vector_set set = read_npy_vectors(npy_file::open_or_collect(file), input_name(file), options);
    set.source = input_name(file);
    return set;
  }
  std::string_view name = file.native();
  if (const auto hdf5 = parse_hdf5_path(file.native(), options.hdf5_dataset)) {
    vector_set set = read_hdf5(hdf5->file, hdf5->dataset, options.limit);
    set.source = hdf5->file.string() + ':' + hdf5->dataset;
    return set;
  }
  const auto read_plain = [&] {
    if (name.ends_with(".npy")) return read_npy_vectors(npy_file::open(file), file, options);
    if (name.ends_with(".fvecs")) return read_xvecs(file, element_type::float32, options.limit);
    if (name.ends_with(".bvecs")) return read_xvecs(file, element_type::uint8, options.limit);
    if (name.ends_with(".ivecs")) return read_xvecs(file, element_type::int32, options.limit);
    if (name.ends_with(block_file_extension)) return read_blocks(file, options.limit);
    const bool packed = name.ends_with(".gz");
    if (packed) name.remove_suffix(3);
    if (is_idx_name(std::filesystem::path(name).filename().native())) {
      return read_idx(file, packed ? compression::gzip : compression::none, options.limit);
    }
    fail_input(file, fmt::format("unknown kind of file; expected {}", known_names));
  };
  vector_set set = read_plain();
  set.source = file.string();
  return set;
}

vector_layout npy_layout(const std::filesystem::path& file) {
  const npy_header header = parse_npy_header(file, mapped_file::open(file).bytes());
  require_matrix(file, header.shape, header.fortran_order);
  return {.file = file,
          .count = header.shape[0],
          .dimension = header.shape[1],
          .type = header.type,
          .offset = header.data_offset,
          .stride = header.shape[1] * size_of(header.type)};
}

void require_finite(const std::filesystem::path& file, const vector_set& set) {
  const auto bad = std::ranges::find_if_not(set.data, [](float x) { return std::isfinite(x); });
  if (bad == set.data.end()) return;
  const std::int64_t at = bad - set.data.begin();
  fail_input(file, fmt::format("vector {}, component {} is {} as float32; clean the data first",
                               at / set.dimension, at % set.dimension, *bad));
}

}  // namespace

vector_set load_vectors(const std::filesystem::path& file, const load_options& options) {
  if (options.limit < 0) {
    throw error(failure::usage, fmt::format("{}: limit {} is negative; 0 means all vectors",
                                            file.string(), options.limit));
  }
  vector_set set = read(file, options);
  if (!options.allow_non_finite) require_finite(file, set);
  set.hash = XXH3_64bits(set.data.data(), set.data.size() * sizeof(float));
  return set;
}

void fail_input(const std::filesystem::path& file, std::string_view problem) {
  throw error(failure::input, fmt::format("{}: {}", file.string(), problem));
}

vector_set allocate_vectors(const std::filesystem::path& file, std::int64_t available,
                            std::int64_t dimension, std::int64_t limit) {
  if (available > 0 && dimension == 0) fail_input(file, "its vectors have no components");
  vector_set set;
  set.count = limit == 0 ? available : std::min(available, limit);
  set.dimension = dimension;
  // Does not overflow, because the file can hold so many elements.
  const auto elements = set.count == 0 ? 0 : static_cast<std::size_t>(set.count * dimension);
  try {
    set.data.resize(elements);
  } catch (const std::bad_alloc&) {
    throw error(failure::resources,
                fmt::format("{}: {} of dimension {} do not fit into memory; limit their "
                            "number",
                            file.string(), amount_of(set.count, "vector"), dimension));
  }
  return set;
}

std::filesystem::path container_of(const std::filesystem::path& name) {
  const auto hdf5 = parse_hdf5_path(name.native(), "");
  return hdf5 ? hdf5->file : name;
}

vector_layout layout_of(const std::filesystem::path& file) {
  const std::string& name = file.native();
  if (name.ends_with(".gz")) {
    fail_input(file, "is compressed, and a search in tiles reads from any offset; gunzip it first");
  }
  if (name.ends_with(".npy")) return npy_layout(file);
  if (name.ends_with(".fvecs")) return xvecs_layout(file, element_type::float32);
  if (name.ends_with(".bvecs")) return xvecs_layout(file, element_type::uint8);
  if (name.ends_with(".ivecs")) return xvecs_layout(file, element_type::int32);
  if (name.ends_with(block_file_extension)) return layout_of_blocks(file);
  if (const auto hdf5 = parse_hdf5_path(name, load_options{}.hdf5_dataset)) {
    return hdf5_layout(hdf5->file, hdf5->dataset);
  }
  if (is_idx_name(file.filename().native())) return idx_layout(file);
  fail_input(file, fmt::format("unknown kind of file; expected {}", known_names));
}

}  // namespace kselect::runtime
