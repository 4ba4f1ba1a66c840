#include <algorithm>

#include "harness/verify/device/word_kernels.cuh"
#include "harness/verify/device/words.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

// Enough threads to fill any GPU; each handles a few words of a large buffer.
simt::grid grid_for(std::int64_t words) {
  constexpr std::int64_t threads = fill_kernel<std::uint32_t>::max_threads, most_blocks = 1 << 13;
  return {.blocks = std::clamp((words + threads - 1) / threads, std::int64_t{1}, most_blocks),
          .threads = static_cast<int>(threads)};
}

// Calls f(pieces) with the memory as words if size and address allow it, else as halves or bytes.
template <class Byte, class F>
void visit_pieces(Byte* data, std::size_t bytes, const F& f) {
  const auto in = [&]<class Piece>(Piece) {
    if (bytes % sizeof(Piece) != 0 || reinterpret_cast<std::uintptr_t>(data) % sizeof(Piece) != 0) {
      return false;
    }
    using piece = std::conditional_t<std::is_const_v<Byte>, const Piece, Piece>;
    f(simt::global<piece>{reinterpret_cast<piece*>(data),
                          static_cast<std::int64_t>(bytes / sizeof(Piece))});
    return true;
  };
  if (!in(std::uint32_t{}) && !in(std::uint16_t{})) in(std::uint8_t{});
}

void require(const status& done) {
  if (!done.ok()) throw error(failure::unsupported, done.message);
}

}  // namespace

void fill_words(backend& place, std::byte* to, std::size_t bytes, std::uint32_t word) {
  if (bytes == 0) return;
  visit_pieces(to, bytes, [&]<class Piece>(simt::global<Piece> pieces) {
    require(
        simt::launch<fill_kernel<Piece>>(place.executor(), grid_for(pieces.size), {pieces, word}));
  });
}

std::uint64_t hash_words(backend& place, const std::byte* from, std::size_t bytes) {
  std::uint64_t sum = 0;
  const std::span host = std::as_writable_bytes(std::span(&sum, 1));
  const device_buffer result(place, sizeof sum);
  place.to_device(result.data(), host);
  visit_pieces(from, bytes, [&]<class Piece>(simt::global<const Piece> pieces) {
    require(simt::launch<hash_kernel<Piece>>(
        place.executor(), grid_for(pieces.size),
        {pieces, {reinterpret_cast<std::uint64_t*>(result.data()), 1}}));
  });
  place.to_host(host, result.data());
  return sum;
}

}  // namespace kselect::harness
