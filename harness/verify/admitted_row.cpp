#include "harness/verify/admitted_row.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "kselect/ragged.hpp"

namespace kselect::harness {

admitted_row::admitted_row(const problem& p, const io& buffers, std::int64_t row)
    : p_(p), buffers_(buffers), row_(row) {
  const row_extent e = extent_of(p, buffers, row);
  const mask_range mask = mask_of(p, buffers, row);
  const std::size_t size = size_of(p.type);
  const auto* const input = static_cast<const std::byte*>(buffers.input);
  for (std::int64_t j = 0; j < e.length; ++j) {
    if (!mask.admits(j)) continue;
    places_.push_back(j);
    const auto* const from = input + static_cast<std::size_t>(e.first + j) * size;
    elements_.insert(elements_.end(), from, from + size);
  }
}

std::optional<finding> admitted_row::positions_of(std::int64_t count,
                                                  std::vector<std::int64_t>& positions) const {
  for (std::int64_t j = 0; j < count; ++j) {
    const std::int64_t index = visit(p_.index, [&]<class Index>(Index) {
      return static_cast<std::int64_t>(
          static_cast<const Index*>(buffers_.indices)[row_ * p_.k + j]);
    });
    const auto found = std::ranges::lower_bound(places_, index);
    if (found == places_.end() || *found != index) {
      return finding{check::index_range, row_, j,
                     fmt::format("index_range: row {}, position {}: the mask admits no element {}",
                                 row_, j, index)};
    }
    positions.push_back(found - places_.begin());
  }
  return std::nullopt;
}

}  // namespace kselect::harness
