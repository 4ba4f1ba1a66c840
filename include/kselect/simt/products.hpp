#pragma once
// A warp's matrix product as a collective: D = A B + D, with A of 16 rows and B of 8 columns.
//
//     simt.multiply_add<product::float16>(d, a, b0, b1);   // every lane of the warp calls it
//
// float16 and bfloat16 multiply 16 components and add in float32; int8 and uint8 multiply 32 and
// add in int32 (modulo 2^32). Each lane holds a part of each matrix. With g = lane / 4 and
// c = lane % 4, and w components in a 32-bit register (2 or 4), the lowest in the low bits:
//
//     a[0]        row g,     components w c ... w c + w - 1
//     a[1]        row g + 8, the same components
//     a[2], a[3]  rows g and g + 8, components 4 w further on
//     b0, b1      column g,  components w c ... and 4 w further on
//     d[0], d[1]  row g,     columns 2 c and 2 c + 1
//     d[2], d[3]  row g + 8, the same columns
//
// That is PTX's mma.sync.m16n8k16 (k32) .row.col, and what load_matrices() brings from shared
// memory.
//
// Accuracy. Products of two factors are exact. Integers are exact (modulo 2^32). A GPU adds the 17
// terms of a float32 sum after it has cut each at the exponent of the largest, and cuts the sum
// (Fasi et al. 2021, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7:e330).
// Fibers add them in float64 and round once. So both differ from the exact sum by at most
// product_error times the largest of all partial sums' and products' magnitudes: 17 cuts below
// 2^-23 of it and one of the result; hardware that adds in four parts of 4 would make 24 cuts.
// That a GPU takes the exponents of subnormal factors as they are is an assumption. A GPU test
// holds errors against this bound, but not those of sums of subnormal factors alone.

#include <cstdint>
#include <type_traits>

#include "kselect/hd.hpp"

namespace kselect::simt {

enum class product : std::uint8_t { float16, bfloat16, int8, uint8 };

constexpr bool of_bytes(product p) { return p == product::int8 || p == product::uint8; }
// The components that one multiply_add() multiplies.
constexpr int product_depth(product p) { return of_bytes(p) ? 32 : 16; }
inline constexpr double product_error = 24 * 0x1p-23;

// The type of a sum of products.
template <product p>
using product_sum = std::conditional_t<of_bytes(p), std::int32_t, float>;

namespace detail {

// One lane's part in a product and in a load of matrices, for the fiber executor.
struct product_call {
  product factors;
  const std::uint32_t* a;
  std::uint32_t b[2];
  void* d;
};
struct matrices_call {
  const void* row;
  std::uint32_t* into;
};

}  // namespace detail
}  // namespace kselect::simt
