#pragma once
// The positions that an answer names by a map, for the certificate.

#include <cstdint>
#include <vector>

#include "harness/harness.hpp"
#include "kselect/call.hpp"
#include "kselect/problem.hpp"

namespace kselect::harness {

// Q x k: the position in its row of each output, in place of its name. If several elements of a row
// have the name, those with the output's value, or else the best, are taken in turn, so there are
// positions that prove the answer if any do. A name of no element that is left has the position n,
// which no row has. What a row is filled with stays as it is.
std::vector<std::int64_t> positions_named(const problem& what, const io& buffers);

}  // namespace kselect::harness
