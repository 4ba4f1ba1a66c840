#include "cli/ragged_rows.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kselect/ragged.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"

namespace kselect::cli {
namespace {

row_numbers type_of(const npy_file& file) {
  return file.type() == element_type::int32 ? row_numbers::int32 : row_numbers::int64;
}

std::int64_t count_of(const npy_file& file) {
  std::int64_t count = 1;
  for (const std::int64_t size : file.shape()) count *= size;
  return count;
}

std::span<const std::byte> bytes_of(const npy_file& file) {
  return {file.data(), static_cast<std::size_t>(count_of(file)) * size_of(file.type())};
}

// An array of int32 or int64.
npy_file open_integers(const std::string& name, const char* option) {
  npy_file file = npy_file::open_or_collect(name);
  if (file.type() != element_type::int32 && file.type() != element_type::int64) {
    throw error(failure::input,
                fmt::format("{}: holds {}, but {} takes int32 or int64; convert it with numpy's "
                            ".astype(numpy.int64)",
                            name, to_string(file.type()), option));
  }
  return file;
}

// The same, of one dimension.
npy_file open_numbers(const std::string& name, const char* option) {
  npy_file file = open_integers(name, option);
  if (file.shape().size() != 1) {
    throw error(failure::input, fmt::format("{}: has {} dimensions, but {} takes one number a row; "
                                            "reshape it with numpy's .reshape(-1)",
                                            name, file.shape().size(), option));
  }
  return file;
}

void require_rows(const npy_file& file, const std::string& name, std::int64_t q,
                  const std::string& rows) {
  if (file.shape().front() == q) return;
  throw error(failure::input,
              fmt::format("{}: has {}, but {} has {}", name,
                          amount_of(file.shape().front(), "number"), rows, amount_of(q, "row")));
}

}  // namespace

void ragged_options::require_use_of_fill() const {
  if (fill == -1 || any()) return;
  throw error(failure::usage,
              "--fill is for rows of fewer than k elements: give --lengths, --starts, --offsets, "
              "--k-each or --mask, or leave it out");
}

void ragged_options::require_masks_of(const algorithm& entry) const {
  if (mask.empty() || entry.masks) return;
  throw error(failure::unsupported,
              fmt::format("{} takes no --mask; `--algorithm auto` does", entry.name));
}

void option_ragged(CLI::App& command, ragged_options& o) {
  command
      .add_option("--lengths", o.lengths,
                  "how many elements each row has, at most n: int32 or int64 (.npy)")
      ->type_name("FILE");
  command
      .add_option("--starts", o.starts,
                  "the column at which each row begins; without --lengths it ends with the matrix")
      ->type_name("FILE");
  command
      .add_option("--offsets", o.offsets,
                  "row r is elements OFFSETS[r] to OFFSETS[r + 1] of the input, which then has one "
                  "dimension")
      ->type_name("FILE");
  command
      .add_option("--k-each", o.k_each,
                  "how many of each row, at most --k; the other places are filled: int32 or int64 "
                  "(.npy)")
      ->type_name("FILE");
  command
      .add_option("--map", o.map,
                  "names of columns (of elements, with --offsets or of the input's shape), which "
                  "the answer has in place of indices: int32 or int64 (.npy)")
      ->type_name("FILE");
  command
      .add_option("--mask", o.mask,
                  "which columns (elements, with --offsets) may be selected, for all rows or, of "
                  "the input's shape, for each: bool, or uint8 bits as of numpy.packbits (.npy)")
      ->type_name("FILE");
  command.add_option("--fill", o.fill,
                     "the index where a row has fewer than k elements; its value is infinity, of "
                     "integers the worst (default: -1)");
}

ragged_arrays::ragged_arrays(const ragged_options& o, problem& p, const std::string& name) {
  if (p.layout == layout::column_major) {
    throw error(failure::input,
                fmt::format("{}: is in Fortran order; rows of lengths of their own, "
                            "a map and a mask need numpy's ascontiguousarray",
                            name));
  }
  if (p.n == 0 && o.offsets.empty()) {
    throw error(failure::input, fmt::format("{}: its rows have no columns", name));
  }
  p.fill = o.fill;
  if (!o.offsets.empty()) cut_to_segments(o, p, name);
  if (!o.k_each.empty()) open_k_each(o, p, name);
  if (!o.map.empty()) open_map(o, p, name);
  if (!o.mask.empty()) open_mask(o, p);
  if (!o.offsets.empty()) return;
  if (!o.lengths.empty()) {
    lengths_ = open_numbers(o.lengths, "--lengths");
    require_rows(*lengths_, o.lengths, p.q, name);
    p.lengths = type_of(*lengths_);
  }
  if (!o.starts.empty()) {
    starts_ = open_numbers(o.starts, "--starts");
    require_rows(*starts_, o.starts, p.q, name);
    p.starts = type_of(*starts_);
  }
  require_inside(o, p, name);
  if (!p.ragged() && p.k > p.n) {
    throw error(failure::usage,
                fmt::format("--k {} is more than the {} columns of {}", p.k, p.n, name));
  }
}

void ragged_arrays::open_k_each(const ragged_options& o, problem& p, const std::string& name) {
  k_each_ = open_numbers(o.k_each, "--k-each");
  require_rows(*k_each_, o.k_each, p.q, name);
  p.k_each = type_of(*k_each_);
  for (std::int64_t r = 0; r < p.q; ++r) {
    const std::int64_t k = row_number(p.k_each, k_each_->data(), r);
    if (k >= 0 && k <= p.k) continue;
    throw error(failure::input,
                fmt::format("{}: row {} wants {}, but must want 0 to --k {}", o.k_each, r, k, p.k));
  }
}

void ragged_arrays::open_map(const ragged_options& o, problem& p, const std::string& name) {
  if (!p.has_indices()) {
    throw error(failure::usage, "--map names indices, which --payload values leaves out");
  }
  map_ = open_integers(o.map, "--map");
  p.map = type_of(*map_);
  const std::vector<std::int64_t>& shape = map_->shape();
  const std::int64_t reached = p.segments ? p.elements : p.n;
  p.map_of_input = !p.segments && shape == std::vector{p.q, p.n} && !map_->fortran_order();
  if (p.map_of_input || shape == std::vector{reached}) return;
  if (!p.segments && shape == std::vector{p.q, p.n}) {
    throw error(
        failure::input,
        fmt::format("{}: is in Fortran order; convert it with numpy's ascontiguousarray", o.map));
  }
  throw error(failure::input,
              fmt::format("{}: has {}, but --map takes one name for each of the {} {} of {}", o.map,
                          shape.empty() ? "no dimension"
                                        : fmt::format("the shape {}", fmt::join(shape, " x ")),
                          reached, p.segments ? "elements" : "columns", name));
}

void ragged_arrays::open_mask(const ragged_options& o, problem& p) {
  mask_ = load_bit_masks(o.mask, {.n = p.segments ? p.elements : p.n,
                                  .rows = p.q,
                                  .each = !p.segments,
                                  .thing = p.segments ? "element" : "column",
                                  .things = p.segments ? "these elements" : "these rows"});
  if (mask_.words.empty()) mask_.words.push_back(0);  // no elements, but a mask
  p.mask = mask_.each ? mask_bits::elements : mask_bits::columns;
  if (mask_.each) p.mask_pitch = mask_.pitch;
}

void ragged_arrays::cut_to_segments(const ragged_options& o, problem& p, const std::string& name) {
  if (!o.lengths.empty() || !o.starts.empty()) {
    throw error(failure::usage,
                "--offsets says where rows begin and end; leave --lengths and --starts out");
  }
  if (p.q != 1) {
    throw error(failure::input, fmt::format("{}: has {} rows, but --offsets takes an array of one "
                                            "dimension; reshape it with numpy's .reshape(-1)",
                                            name, p.q));
  }
  starts_ = open_numbers(o.offsets, "--offsets");
  const std::int64_t count = starts_->shape().front();
  if (count < 1) throw error(failure::input, fmt::format("{}: is empty", o.offsets));
  p.starts = type_of(*starts_);
  p.segments = true;
  p.elements = p.n;
  p.q = count - 1;
  p.n = 1;
  std::int64_t before = 0;
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t here = row_number(p.starts, starts_->data(), r);
    if (here < before || here > p.elements) {
      throw error(failure::input,
                  fmt::format("{}: offset {} is {}, but must be {} to {}, the elements of {}",
                              o.offsets, r, here, before, p.elements, name));
    }
    if (r != 0) p.n = std::max(p.n, here - before);
    before = here;
  }
}

void ragged_arrays::require_inside(const ragged_options& o, const problem& p,
                                   const std::string& name) const {
  for (std::int64_t r = 0; r < p.q; ++r) {
    const std::int64_t start = starts_ ? row_number(p.starts, starts_->data(), r) : 0;
    if (start < 0 || start > p.n) {
      throw error(failure::input, fmt::format("{}: row {} starts at column {}, but {} has {}",
                                              o.starts, r, start, name, p.n));
    }
    if (!lengths_) continue;
    const std::int64_t length = row_number(p.lengths, lengths_->data(), r);
    if (length < 0 || length > p.n - start) {
      throw error(failure::input,
                  fmt::format("{}: row {} has {} from column {} on, but {} has {}", o.lengths, r,
                              amount_of(length, "element"), start, name, amount_of(p.n, "column")));
    }
  }
}

row_places ragged_arrays::places() const {
  row_places found;
  if (lengths_) found.lengths = bytes_of(*lengths_);
  if (starts_) found.starts = bytes_of(*starts_);
  if (k_each_) found.k_each = bytes_of(*k_each_);
  if (map_) found.map = bytes_of(*map_);
  found.mask = std::as_bytes(std::span(mask_.words));
  return found;
}

void ragged_arrays::require_unchanged() const {
  for (const auto* const each : {&lengths_, &starts_, &k_each_, &map_}) {
    if (*each) (*each)->require_unchanged();
  }
}

}  // namespace kselect::cli
