// A warp's matrix product and its loads of matrices (kselect/simt/products.hpp).

#include <bit>
#include <cstring>

#include "kselect/float16.hpp"
#include "src/simt/block.hpp"

namespace kselect::simt::detail {
namespace {

constexpr int rows = 16, columns = 8;

template <class Call>
const Call& call_of(const lane& self) {
  return *std::bit_cast<const Call*>(self.call.value);
}

// Component i of a register.
template <product factors>
double component(std::uint32_t bits, int i) {
  if constexpr (factors == product::int8) return static_cast<std::int8_t>(bits >> 8 * i & 0xffU);
  if constexpr (factors == product::uint8) return static_cast<std::uint8_t>(bits >> 8 * i & 0xffU);
  const auto half = static_cast<std::uint16_t>(bits >> 16 * i & 0xffffU);
  if constexpr (factors == product::float16) return to_float(float16{half});
  return to_float(bfloat16{half});
}

// The matrices of a warp, b by columns. Integers are sums of at most 32 products of bytes: exact.
template <product factors>
struct matrices {
  static constexpr int depth = product_depth(factors);
  double a[rows][depth], b[depth][columns];
  double sums[rows][columns] = {};

  void take(const product_call& from, int lane) {
    constexpr int width = depth / 8;
    const int g = lane / 4, c = lane % 4;
    for (int part = 0; part < 2; ++part) {
      for (int i = 0; i < width; ++i) {
        const int at = width * (c + 4 * part) + i;
        a[g][at] = component<factors>(from.a[2 * part], i);
        a[g + 8][at] = component<factors>(from.a[2 * part + 1], i);
        b[at][g] = component<factors>(from.b[part], i);
      }
    }
  }

  // A row of sums at a time, which the compiler computes in vectors. It touches only the members
  // above, by constant bounds: checks of each access took a fifth of the tests of products.
  __attribute__((no_sanitize("address", "undefined"))) void multiply() {
    for (int row = 0; row < rows; ++row) {
      for (int i = 0; i < depth; ++i) {
        for (int c = 0; c < columns; ++c) sums[row][c] += a[row][i] * b[i][c];
      }
    }
  }

  void give(const product_call& to, int lane) const {
    auto* const d = static_cast<product_sum<factors>*>(to.d);
    for (int i = 0; i < 4; ++i) add_to(d[i], sums[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]);
  }

  static void add_to(float& sum, double more) { sum = static_cast<float>(sum + more); }
  static void add_to(std::int32_t& sum, double more) {
    sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) +
                                    static_cast<std::uint32_t>(static_cast<std::int64_t>(more)));
  }
};

}  // namespace

template <product factors>
void block::multiply_by(int warp) {
  matrices<factors> m;
  for (int i = 0; i < warp_size; ++i) m.take(call_of<product_call>(lane_of(warp, i)), i);
  m.multiply();
  for (int i = 0; i < warp_size; ++i) m.give(call_of<product_call>(lane_of(warp, i)), i);
}

// Every lane calls the verb with the same factors: it is a template argument.
void block::multiply(int warp) {
  const product factors = call_of<product_call>(lane_of(warp, 0)).factors;
  if (factors == product::float16) multiply_by<product::float16>(warp);
  if (factors == product::bfloat16) multiply_by<product::bfloat16>(warp);
  if (factors == product::int8) multiply_by<product::int8>(warp);
  if (factors == product::uint8) multiply_by<product::uint8>(warp);
}

// Register j of a lane is four bytes of the row that lane 8 j + lane / 4 named.
void block::bring_matrices(int warp) {
  for (int i = 0; i < warp_size; ++i) {
    const auto& call = call_of<matrices_call>(lane_of(warp, i));
    for (int j = 0; j < 4; ++j) {
      const auto& source = call_of<matrices_call>(lane_of(warp, 8 * j + i / 4));
      std::memcpy(call.into + j, static_cast<const std::byte*>(source.row) + i % 4 * 4, 4);
    }
  }
}

}  // namespace kselect::simt::detail
