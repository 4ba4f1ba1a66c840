#include "runtime/io/bit_masks.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/available_memory.hpp"
#include "runtime/error.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/io/stream.hpp"

namespace kselect::runtime {
namespace {

constexpr std::int64_t bits_a_word = 32;

// How a row of the file lies.
struct mask_rows {
  std::int64_t rows, bytes;  // of a row
  bool packed;               // 8 things a byte, not one
};

[[noreturn]] void refuse_masks(const std::string& name, const std::string& problem) {
  throw error(failure::input, fmt::format("{}: {}", name, problem));
}

mask_rows rows_in(const npy_file& array, const std::string& name, std::int64_t n,
                  std::int64_t rows) {
  const std::vector<std::int64_t>& shape = array.shape();
  if (array.type() != element_type::uint8) {
    refuse_masks(name,
                 fmt::format("holds {}; a mask is of bool or uint8", to_string(array.type())));
  }
  const std::int64_t wanted = std::max<std::int64_t>(rows, 1);
  const bool one = rows == 0 && shape.size() == 1;
  const bool several = shape.size() == 2 && shape[0] == wanted;
  if (one || several) {
    const std::int64_t length = shape.back();
    if (length == n) return {wanted, n, false};
    if (length == (n + 7) / 8 && !array.is_boolean()) return {wanted, length, true};
  }
  const std::string of = rows == 0 ? "" : fmt::format("{}, ", rows);
  const char* const comma = rows == 0 ? "," : "";
  refuse_masks(name,
               fmt::format("has shape ({}{}); the masks of these vectors{} are bool or uint8 of "
                           "shape ({}{}{}), or uint8 bits of shape ({}{}{})",
                           fmt::join(shape, ", "), shape.size() == 1 ? "," : "",
                           rows == 0 ? "" : " and queries", of, n, comma, of, (n + 7) / 8, comma));
}

// A byte a thing becomes a bit.
void pack_row(const std::string& name, std::int64_t row, std::span<const std::byte> bytes,
              std::uint32_t* words) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto value = std::to_integer<std::uint32_t>(bytes[i]);
    if (value > 1) {
      refuse_masks(name,
                   fmt::format("row {}, vector {}: {} is neither 0 nor 1; for bits, a row has "
                               "{} bytes",
                               row, i, value, (bytes.size() + 7) / 8));
    }
    words[i / bits_a_word] |= value << i % bits_a_word;
  }
}

}  // namespace

bit_masks load_bit_masks(const std::filesystem::path& file, std::int64_t n, std::int64_t rows) {
  const npy_file array = npy_file::open_or_collect(file);
  const std::string name = input_name(file);
  const mask_rows from = rows_in(array, name, n, rows);
  if (array.fortran_order() && from.rows > 1) {
    refuse_masks(name, "is in Fortran order; save it with numpy.ascontiguousarray");
  }
  bit_masks masks{.rows = from.rows,
                  .each = rows > 0,
                  .pitch = (n + bits_a_word - 1) / bits_a_word,
                  .words = {}};
  const std::int64_t bytes = masks.rows * masks.pitch * 4;
  const auto there = static_cast<std::int64_t>(available_memory());
  if (there != 0 && bytes > there) {
    throw error(failure::resources,
                fmt::format("{}: its {} MiB of bits do not fit into memory", name, bytes >> 20));
  }
  masks.words.resize(static_cast<std::size_t>(masks.rows * masks.pitch));
  for (std::int64_t row = 0; row < masks.rows; ++row) {
    const std::span own(array.data() + row * from.bytes, static_cast<std::size_t>(from.bytes));
    std::uint32_t* const words = masks.words.data() + row * masks.pitch;
    if (from.packed) {
      std::memcpy(words, own.data(), own.size());
    } else {
      pack_row(name, row, own, words);
    }
  }
  array.require_unchanged();
  return masks;
}

}  // namespace kselect::runtime
