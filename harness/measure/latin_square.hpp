#pragma once
// The order in which the algorithms of a cell group take their turns.
//
// A machine drifts during a sweep: it warms up, its clock steps, neighbours come and go. An
// algorithm that always ran first, or always after the same one, would carry that in its times. So
// the order is a Latin square: in as many rounds as there are algorithms, each takes every place
// once. And it is a Williams design: each follows every other one equally often.

#include <vector>

namespace kselect::harness {

// A permutation of 0 .. contenders - 1. If there are fewer rounds than contenders, the rounds are
// spread evenly over the square.
std::vector<int> order_of_round(int contenders, int round, int rounds);

}  // namespace kselect::harness
