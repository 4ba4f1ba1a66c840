#include "runtime/copy_by_threads.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace kselect::runtime {
namespace {

// More threads than these do not copy faster: the memory's bandwidth is reached.
constexpr int most_threads = 8;
constexpr std::size_t least_bytes = std::size_t{1} << 20;  // for each thread

}  // namespace

void copy_by_threads(std::byte* to, const std::byte* from, std::size_t bytes, int threads) {
  if (bytes == 0) return;  // memcpy takes no null pointers, not even for nothing
  const int team =
      std::clamp(static_cast<int>(std::min<std::size_t>(bytes / least_bytes, most_threads)), 1,
                 std::max(1, threads));
#pragma omp parallel for num_threads(team) schedule(static, 1) if (team > 1)
  for (int part = 0; part < team; ++part) {
    const auto at = [&](int p) {
      return bytes / static_cast<std::size_t>(team) * static_cast<std::size_t>(p);
    };
    const std::size_t begin = at(part), end = part + 1 == team ? bytes : at(part + 1);
    std::memcpy(to + begin, from + begin, end - begin);
  }
}

}  // namespace kselect::runtime
