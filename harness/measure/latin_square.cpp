#include "harness/measure/latin_square.hpp"

#include <algorithm>

namespace kselect::harness {

std::vector<int> order_of_round(int contenders, int round, int rounds) {
  // The zigzag 0, -1, 1, -2, 2, ... has every difference once. Its shifts are the square's rows.
  const int stride = std::max(1, contenders / std::max(1, rounds));
  std::vector<int> order;
  order.reserve(static_cast<std::size_t>(contenders));
  for (int place = 0; place < contenders; ++place) {
    const int zigzag = place % 2 == 0 ? place / 2 : contenders - (place + 1) / 2;
    order.push_back((zigzag + round * stride) % contenders);
  }
  // For an odd number, neighbours are balanced only together with the mirrored square.
  if (contenders % 2 == 1 && round / contenders % 2 == 1) std::ranges::reverse(order);
  return order;
}

}  // namespace kselect::harness
