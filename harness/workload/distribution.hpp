#pragma once
// How the elements of generated rows are distributed. generator.hpp makes them.

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/harness.hpp"

namespace kselect::harness {

enum class distribution_kind : std::uint8_t {
  uniform,            // [0, 1); of an integer type its whole range (generator.hpp)
  normal,             // mean 0, standard deviation 1
  decaying,           // normal, less spread from column to column; parameter = intrinsic dimension
  ascending,          // each row sorted: the cheapest order for a filter
  descending,         // each element better than all before it: the dearest order for a queue
  all_equal,          // one value a row
  few_distinct,       // parameter = number of distinct values
  organ_pipe,         // ascending, then descending
  same_leading_bits,  // parameter = number of leading bits all elements share
  inf_fraction,       // uniform, with this fraction of +inf
  nan_fraction,       // uniform, with this fraction of NaN (both signs, several payloads)
  kth_ties,           // half of the k best distinct, the k-th value tied; parameter = surplus ties
  external            // the rows come from a file, not from the generator
};

constexpr auto names_of(distribution_kind) {
  return std::to_array<named<distribution_kind>>(
      {{distribution_kind::uniform, "uniform"},
       {distribution_kind::normal, "normal"},
       {distribution_kind::decaying, "decaying"},
       {distribution_kind::ascending, "ascending"},
       {distribution_kind::descending, "descending"},
       {distribution_kind::all_equal, "all_equal"},
       {distribution_kind::few_distinct, "few_distinct"},
       {distribution_kind::organ_pipe, "organ_pipe"},
       {distribution_kind::same_leading_bits, "same_leading_bits"},
       {distribution_kind::inf_fraction, "inf_fraction"},
       {distribution_kind::nan_fraction, "nan_fraction"},
       {distribution_kind::kth_ties, "kth_ties"},
       {distribution_kind::external, "external"}});
}

struct distribution {
  distribution_kind kind = distribution_kind::uniform;
  double parameter = 0;  // meaning and range: see distribution_kind; 0 where it has none

  bool operator==(const distribution&) const = default;
};

// The default and the inclusive range of a kind's parameter. Kinds without one have no entry.
struct parameter_range {
  double preset, low, high;
  bool counts;  // only whole numbers
};
constexpr std::optional<parameter_range> parameter_of(distribution_kind kind) {
  switch (kind) {
    case distribution_kind::decaying:
      return parameter_range{64, 1, 1e6, false};
    case distribution_kind::few_distinct:
      return parameter_range{16, 1, 1 << 24, true};
    case distribution_kind::same_leading_bits:
      return parameter_range{20, 1, 32, true};
    case distribution_kind::inf_fraction:
    case distribution_kind::nan_fraction:
      return parameter_range{0.5, 0, 1, false};
    case distribution_kind::kth_ties:
      return parameter_range{16, 0, 1e9, true};
    default:
      return std::nullopt;
  }
}

constexpr bool may_contain_nan(const distribution& d) {
  return d.kind == distribution_kind::nan_fraction && d.parameter > 0;
}

constexpr bool may_contain_infinities(const distribution& d) {
  return d.kind == distribution_kind::inf_fraction && d.parameter > 0;
}

// As text: `uniform`, `few_distinct(16)`, `inf_fraction(0.9)`.
inline std::string to_string(const distribution& d) {
  std::string text{to_string(d.kind)};
  if (parameter_of(d.kind)) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, d.parameter).ptr;
    text += '(';
    text.append(digits, end);
    text += ')';
  }
  return text;
}

// Inverse of to_string. A parameter left out gets its default. Empty if the name is unknown, if a
// kind without a parameter gets one, or if the parameter lacks a bracket, is no number, is out of
// range, or is a fraction where a count is needed.
inline std::optional<distribution> parse_distribution(std::string_view text) {
  const std::size_t bracket = text.find('(');
  const auto kind = parse<distribution_kind>(text.substr(0, bracket));
  if (!kind || *kind == distribution_kind::external) return std::nullopt;
  const auto range = parameter_of(*kind);
  distribution parsed{*kind, range ? range->preset : 0};
  if (bracket == std::string_view::npos) return parsed;
  if (!range || text.back() != ')') return std::nullopt;
  const char* const first = text.data() + bracket + 1;
  const char* const last = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(first, last, parsed.parameter);
  if (error != std::errc{} || end != last) return std::nullopt;
  if (!(parsed.parameter >= range->low && parsed.parameter <= range->high)) return std::nullopt;
  const bool whole =
      parsed.parameter == static_cast<double>(static_cast<std::int64_t>(parsed.parameter));
  if (!whole && range->counts) return std::nullopt;
  return parsed;
}

}  // namespace kselect::harness
