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
double component(product factors, std::uint32_t bits, int i) {
  if (factors == product::int8) return static_cast<std::int8_t>(bits >> 8 * i & 0xffU);
  if (factors == product::uint8) return static_cast<std::uint8_t>(bits >> 8 * i & 0xffU);
  const auto half = static_cast<std::uint16_t>(bits >> 16 * i & 0xffffU);
  return factors == product::float16 ? to_float(float16{half}) : to_float(bfloat16{half});
}

// The three matrices of a warp. Integers are sums of at most 32 products of bytes: exact.
struct matrices {
  double a[rows][32] = {}, b[columns][32] = {}, d[rows][columns] = {};
};

void take(matrices& m, const product_call& from, int lane) {
  const int width = of_bytes(from.factors) ? 4 : 2;
  const int g = lane / 4, c = lane % 4;
  for (int part = 0; part < 2; ++part) {
    for (int i = 0; i < width; ++i) {
      const int at = width * (c + 4 * part) + i;
      m.a[g][at] = component(from.factors, from.a[2 * part], i);
      m.a[g + 8][at] = component(from.factors, from.a[2 * part + 1], i);
      m.b[g][at] = component(from.factors, from.b[part], i);
    }
  }
}

// Calls visit(d's element, row, column) for each of the lane's four sums.
template <class Sum, class Visit>
void each_sum(const product_call& of, int lane, const Visit& visit) {
  auto* const d = static_cast<Sum*>(of.d);
  for (int i = 0; i < 4; ++i) visit(d[i], lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
}

void add_to(float& sum, double more) { sum = static_cast<float>(sum + more); }
void add_to(std::int32_t& sum, double more) {
  sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) +
                                  static_cast<std::uint32_t>(static_cast<std::int64_t>(more)));
}

template <class Sum>
void give(const matrices& m, const product_call& to, int lane) {
  const int depth = product_depth(to.factors);
  each_sum<Sum>(to, lane, [&](Sum& sum, int row, int column) {
    double products = 0;
    for (int i = 0; i < depth; ++i) products += m.a[row][i] * m.b[column][i];
    add_to(sum, products);
  });
}

}  // namespace

void block::multiply(int warp) {
  matrices m;
  for (int i = 0; i < warp_size; ++i) take(m, call_of<product_call>(lane_of(warp, i)), i);
  for (int i = 0; i < warp_size; ++i) {
    const auto& call = call_of<product_call>(lane_of(warp, i));
    if (of_bytes(call.factors)) {
      give<std::int32_t>(m, call, i);
    } else {
      give<float>(m, call, i);
    }
  }
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
