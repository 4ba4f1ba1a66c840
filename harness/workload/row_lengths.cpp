#include "harness/workload/row_lengths.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "harness/workload/kind_text.hpp"

namespace kselect::harness {
namespace {

struct bounds {
  double preset, high;
};
std::optional<bounds> parameter_of(length_kind kind) {
  if (kind == length_kind::zipf) return bounds{1, 8};
  if (kind == length_kind::two_sizes) return bounds{0.1, 1};
  return std::nullopt;
}

// A number in [0, 1) from the generator's bits, the same with every standard library.
double fraction(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

}  // namespace

std::string to_string(const row_lengths& l) {
  std::string text{to_string(l.kind)};
  if (l.kind == length_kind::file) {
    const length_file& from = *l.from;
    if (from.hash.empty()) return text + '(' + from.written + ')';
    return text + '(' + std::filesystem::path(from.path).filename().string() + ", " + from.hash +
           ')';
  }
  if (!parameter_of(l.kind)) return text;
  return kind_text(text, l.parameter);
}

std::optional<row_lengths> parse_row_lengths(std::string_view text) {
  const auto read = read_kind(text);
  const auto kind = read ? parse<length_kind>(read->kind) : std::nullopt;
  if (!kind || *kind == length_kind::file) return std::nullopt;
  const auto range = parameter_of(*kind);
  if (read->number && !range) return std::nullopt;
  const row_lengths parsed{*kind, read->number.value_or(range ? range->preset : 0)};
  const bool inside = !range || (parsed.parameter >= 0 && parsed.parameter <= range->high);
  return inside ? std::optional(parsed) : std::nullopt;
}

std::vector<std::int32_t> make_lengths(const row_lengths& l, std::int64_t n, std::int64_t q,
                                       std::uint64_t seed) {
  if (l.kind == length_kind::file) {
    return {l.from->numbers.begin(), l.from->numbers.begin() + q};
  }
  std::mt19937_64 random(seed);
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(q));
  const auto longest = static_cast<double>(n);
  for (std::int32_t& length : lengths) {
    double wanted = longest;
    if (l.kind == length_kind::uniform) wanted = std::floor(fraction(random) * (longest + 1));
    if (l.kind == length_kind::zipf) {
      const double rank = 1 + std::floor(fraction(random) * static_cast<double>(q));
      wanted = std::floor(longest / std::pow(rank, l.parameter));
    }
    if (l.kind == length_kind::two_sizes && fraction(random) >= l.parameter) {
      wanted = std::max(1.0, std::floor(longest / 1000));
    }
    length = static_cast<std::int32_t>(std::min(wanted, longest));
  }
  if (!lengths.empty()) {
    lengths[static_cast<std::size_t>(random() % lengths.size())] = static_cast<std::int32_t>(n);
  }
  return lengths;
}

}  // namespace kselect::harness
