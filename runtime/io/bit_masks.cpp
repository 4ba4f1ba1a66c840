#include "runtime/io/bit_masks.hpp"

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

// Of bits.
std::int64_t bytes_for(std::int64_t things) { return (things + 7) / 8; }

// How a row of the file lies.
struct rows_of_file {
  std::int64_t rows, bytes;  // of a row
  bool packed;               // 8 things a byte, not one
  bool each;                 // not one for all rows
};

[[noreturn]] void refuse_masks(const std::string& name, const std::string& problem) {
  throw error(failure::input, fmt::format("{}: {}", name, problem));
}

// The shapes that masks of `length` elements a row may have.
std::string shapes_of(const masked_rows& over, std::int64_t length) {
  return fmt::format("{}{}{}", over.shared ? fmt::format("({},)", length) : "",
                     over.shared && over.each ? " or " : "",
                     over.each ? fmt::format("({}, {})", over.rows, length) : "");
}

rows_of_file rows_in(const npy_file& array, const std::string& name, const masked_rows& over) {
  const std::vector<std::int64_t>& shape = array.shape();
  if (array.type() != element_type::uint8) {
    refuse_masks(name,
                 fmt::format("holds {}; a mask is of bool or uint8", to_string(array.type())));
  }
  const bool is_matrix = shape.size() == 2;
  const bool one = over.shared && (shape.size() == 1 || (is_matrix && shape[0] == 1));
  if (one || (over.each && is_matrix && shape[0] == over.rows)) {
    const std::int64_t rows = one ? 1 : over.rows, length = shape.back();
    if (length == over.n) return {rows, length, false, !one};
    if (length == bytes_for(over.n) && !array.is_boolean()) return {rows, length, true, !one};
  }
  refuse_masks(name, fmt::format("has shape ({}{}); the masks of {} are bool or uint8 of shape {}, "
                                 "or uint8 bits of shape {}",
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "", over.things,
                                 shapes_of(over, over.n), shapes_of(over, bytes_for(over.n))));
}

// A byte a thing becomes a bit.
void pack_row(const std::string& name, const char* thing, std::int64_t row,
              std::span<const std::byte> bytes, std::uint32_t* words) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto value = std::to_integer<std::uint32_t>(bytes[i]);
    if (value > 1) {
      refuse_masks(
          name,
          fmt::format("row {}, {} {}: {} is neither 0 nor 1; for bits, a row has {} bytes", row,
                      thing, i, value, bytes_for(static_cast<std::int64_t>(bytes.size()))));
    }
    words[i / bits_a_word] |= value << i % bits_a_word;
  }
}

}  // namespace

bit_masks load_bit_masks(const std::filesystem::path& file, const masked_rows& over) {
  const npy_file array = npy_file::open_or_collect(file);
  const std::string name = input_name(file);
  const rows_of_file from = rows_in(array, name, over);
  if (array.fortran_order() && from.rows > 1) {
    refuse_masks(name, "is in Fortran order; save it with numpy.ascontiguousarray");
  }
  bit_masks masks{.rows = from.rows,
                  .each = from.each,
                  .pitch = (over.n + bits_a_word - 1) / bits_a_word,
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
      pack_row(name, over.thing, row, own, words);
    }
  }
  array.require_unchanged();
  return masks;
}

}  // namespace kselect::runtime
