#include "search/sampled_queries.hpp"

#include <algorithm>

namespace kselect::search {

std::vector<std::int64_t> sampled_queries(std::int64_t queries, std::int64_t most) {
  const std::int64_t count = std::min(queries, most);
  const std::int64_t gaps = std::max<std::int64_t>(count - 1, 1);
  std::vector<std::int64_t> numbers;
  for (std::int64_t s = 0; s < count; ++s) numbers.push_back(s * (queries - 1) / gaps);
  return numbers;
}

}  // namespace kselect::search
