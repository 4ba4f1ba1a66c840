#include "runtime/copy_by_threads.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace kselect::runtime {
namespace {

constexpr int most_threads = 8;
// A team of threads takes some tenths of a millisecond to begin. One thread copies so much then.
constexpr std::size_t least_bytes = std::size_t{2} << 20;

// Copies bytes [begin, end) of the pieces laid end to end.
void copy_range(std::span<const moved_bytes> pieces, std::size_t begin, std::size_t end) {
  std::size_t first = 0;  // of the piece
  for (const moved_bytes& piece : pieces) {
    const std::size_t from = std::max(begin, first), to = std::min(end, first + piece.bytes);
    // memcpy takes no null pointers, not even for nothing.
    if (from < to) std::memcpy(piece.to + (from - first), piece.from + (from - first), to - from);
    first += piece.bytes;
  }
}

}  // namespace

int moving_threads(int threads) { return std::clamp(threads, 1, most_threads); }

void start_moving_threads(int threads) {
  const int team = moving_threads(threads);
#pragma omp parallel num_threads(team)
  {}
}

void copy_by_threads(std::span<const moved_bytes> pieces, int threads) {
  std::size_t bytes = 0;
  for (const moved_bytes& piece : pieces) bytes += piece.bytes;
  const int team = bytes < least_bytes ? 1 : moving_threads(threads);
#pragma omp parallel for num_threads(team) schedule(static, 1) if (team > 1)
  for (int part = 0; part < team; ++part) {
    const auto at = [&](int p) {
      return p == team ? bytes
                       : bytes / static_cast<std::size_t>(team) * static_cast<std::size_t>(p);
    };
    copy_range(pieces, at(part), at(part + 1));
  }
}

void copy_by_threads(std::byte* to, const std::byte* from, std::size_t bytes, int threads) {
  const moved_bytes piece{to, from, bytes};
  copy_by_threads(std::span(&piece, 1), threads);
}

}  // namespace kselect::runtime
