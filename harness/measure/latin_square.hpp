#pragma once
// In which order the algorithms of a cell group take their turns.
//
// A machine drifts while a sweep runs: it warms up, its clock steps, neighbours come and go.
// Whoever always ran first, or always behind the same neighbour, would carry that in its times. So
// the order is a Latin square: over as many rounds as there are algorithms, each stands once in
// every place; and a Williams design: each follows every other one equally often.

#include <vector>

namespace kselect::harness {

// A permutation of 0 .. contenders - 1. With fewer rounds than contenders the rounds are spread
// evenly over the square.
std::vector<int> order_of_round(int contenders, int round, int rounds);

}  // namespace kselect::harness
