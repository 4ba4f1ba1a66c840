#include "harness/verify/names.hpp"

#include <algorithm>
#include <tuple>

#include "kselect/ragged.hpp"

namespace kselect::harness {
namespace {

template <class T>
struct named_element {
  std::int64_t name;
  order_key_t<T> key;
  std::int64_t position;
  bool used = false;
};

// The elements of a row by name, the best of each name first.
template <class T>
std::vector<named_element<T>> elements_by_name(const problem& p, const io& buffers,
                                               std::int64_t row) {
  const row_extent e = extent_of(p, buffers, row);
  const std::int64_t first_name = first_name_of(p, buffers, row);
  const std::int64_t step = p.offset(0, 1) - p.offset(0, 0);
  std::vector<named_element<T>> all;
  const bool masked = p.mask != mask_bits::none;
  const mask_range mask = masked ? mask_of(p, buffers, row) : mask_range{};
  for (std::int64_t j = 0; j < e.length; ++j) {
    if (masked && !mask.admits(j)) continue;
    const T value = static_cast<const T*>(buffers.input)[e.first + j * step];
    // Values tell NaNs apart; without values the best element of a name is the one.
    const nan_order place_of_nan = p.has_values() ? nan_order::total_order : p.nan;
    all.push_back({row_number(p.map, buffers.map, first_name + j),
                   selection_key(value, p.direction, place_of_nan), j});
  }
  std::ranges::sort(all, {},
                    [](const auto& one) { return std::tuple(one.name, one.key, one.position); });
  return all;
}

template <class T, class Index>
void positions_of_row(const problem& p, const io& buffers, std::int64_t row,
                      std::vector<std::int64_t>& positions) {
  auto elements = elements_by_name<T>(p, buffers, row);
  const auto length = static_cast<std::int64_t>(elements.size());
  const std::int64_t selected = selected_of(p, buffers, row, length);
  for (std::int64_t j = 0; j < p.k; ++j) {
    const std::int64_t at = row * p.k + j;
    std::int64_t& position = positions[static_cast<std::size_t>(at)];
    position = static_cast<const Index*>(buffers.indices)[at];
    if (j >= selected) continue;
    const auto same = std::ranges::equal_range(elements, position, {}, &named_element<T>::name);
    position = p.n;
    for (auto& one : same) {
      if (one.used) continue;
      if (p.has_values() &&
          one.key != selection_key(static_cast<const T*>(buffers.values)[at], p.direction)) {
        continue;
      }
      one.used = true;
      position = one.position;
      break;
    }
  }
}

}  // namespace

std::vector<std::int64_t> positions_named(const problem& what, const io& buffers) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(what.q * what.k));
  visit_number(what.type, [&]<class T>(T) {
    visit(what.index, [&]<class Index>(Index) {
      for (std::int64_t r = 0; r < what.q; ++r) {
        positions_of_row<T, Index>(what, buffers, r, positions);
      }
    });
  });
  return positions;
}

}  // namespace kselect::harness
