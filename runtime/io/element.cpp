// Converts through memcpy, because records of .fvecs and .idx files are not aligned.

#include "runtime/io/element.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kselect/float16.hpp"

namespace kselect::runtime {
namespace {

template <class T>
void convert(std::endian order, const std::byte* in, std::span<float> out) {
  for (float& value : out) {
    std::array<std::byte, sizeof(T)> bytes;
    std::memcpy(bytes.data(), in, sizeof(T));
    if (order == std::endian::big) std::ranges::reverse(bytes);
    const T element = std::bit_cast<T>(bytes);
    if constexpr (std::is_same_v<T, float16>) {
      value = to_float(element);
    } else {
      value = static_cast<float>(element);
    }
    in += sizeof(T);
  }
}

}  // namespace

std::optional<std::int64_t> dense_bytes(element_type type, std::span<const std::int64_t> shape) {
  std::int64_t bytes = size_of(type);
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    empty |= extent == 0;
    if (extent != 0 && __builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return empty ? 0 : bytes;
}

void convert_elements(element_type type, std::endian order, const std::byte* in,
                      std::span<float> out) {
  switch (type) {
    case element_type::int8:
      return convert<std::int8_t>(order, in, out);
    case element_type::uint8:
      return convert<std::uint8_t>(order, in, out);
    case element_type::int16:
      return convert<std::int16_t>(order, in, out);
    case element_type::int32:
      return convert<std::int32_t>(order, in, out);
    case element_type::uint32:
      return convert<std::uint32_t>(order, in, out);
    case element_type::int64:
      return convert<std::int64_t>(order, in, out);
    case element_type::float16:
      return convert<float16>(order, in, out);
    case element_type::float32:
      return convert<float>(order, in, out);
    case element_type::float64:
      return convert<double>(order, in, out);
  }
}

}  // namespace kselect::runtime
