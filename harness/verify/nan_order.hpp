#pragma once
// The certificate of answers in which NaN is last, or first.

#include "harness/harness.hpp"
#include "harness/verify/certificate.hpp"

namespace kselect::harness {

// Proves the answer on a copy of the rows and of the values in which every NaN has the bits of the
// one that the total order puts last, or first: NaNs tie there, too. Then each NaN of the answer
// must have the bits of the element that its index names or, without indices, occur no more often
// than in its row. Arguments and errors as verify().
verdict verify_nan_order(const problem&, const contract&, const io& buffers, int threads);

}  // namespace kselect::harness
