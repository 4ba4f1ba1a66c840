#pragma once
// How the lengths of ragged rows are distributed, and the lengths themselves.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/harness.hpp"

namespace kselect::harness {

enum class length_kind : std::uint8_t {
  equal,      // all rows have n elements: they are not ragged
  uniform,    // 0 to n, each as likely
  zipf,       // n / i^parameter for a rank i drawn from 1 to Q: few long rows, many short ones
  two_sizes,  // n, and n / 1000 (at least 1) for all but a part `parameter` of the rows
  file        // the first Q numbers of a file
};

constexpr auto names_of(length_kind) {
  return std::to_array<named<length_kind>>({{length_kind::equal, "equal"},
                                            {length_kind::uniform, "uniform"},
                                            {length_kind::zipf, "zipf"},
                                            {length_kind::two_sizes, "two_sizes"},
                                            {length_kind::file, "file"}});
}

// A file with the lengths of rows. harness/config/lengths_file.hpp reads it.
struct length_file {
  std::string written;    // in the config
  std::string path = {};  // for the file system
  std::string hash = {};  // of its bytes, 16 hexadecimal digits; empty until it is read
  std::vector<std::int32_t> numbers = {};

  bool same_as(const length_file& other) const {
    return written == other.written && hash == other.hash;
  }
};

struct row_lengths {
  length_kind kind = length_kind::equal;
  double parameter = 0;                          // 0 where the kind has none
  std::shared_ptr<const length_file> from = {};  // of kind `file`

  bool operator==(const row_lengths& other) const {
    const bool both = from != nullptr && other.from != nullptr;
    return kind == other.kind && parameter == other.parameter &&
           (both ? from->same_as(*other.from) : from == other.from);
  }
};

// As text: `equal`, `zipf(1)`, `two_sizes(0.1)`, `file(L.npy, 0123456789abcdef)` with the name and
// the hash of a file.
std::string to_string(const row_lengths& l);

// Inverse of to_string, but of no file; a parameter left out gets its default (1 for zipf, 0.1 for
// two_sizes). Empty if the text is none of these, or the parameter is not in 0 to 8, or 0 to 1 for
// two_sizes.
std::optional<row_lengths> parse_row_lengths(std::string_view text);

// The lengths of q rows of at most n elements: of a file its first q numbers, which have been read;
// else from the seed, and at least one row has n elements.
std::vector<std::int32_t> make_lengths(const row_lengths& l, std::int64_t n, std::int64_t q,
                                       std::uint64_t seed);

}  // namespace kselect::harness
