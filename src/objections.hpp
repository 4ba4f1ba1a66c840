#pragma once
// What is wrong with a call of the library, before an algorithm is asked.

#include <string>

#include "kselect/select.hpp"

namespace kselect {

// The reason why a problem is invalid, as a sentence; empty if it is valid.
std::string objection(const problem& p);

// The same for the buffers of a call on a valid problem.
std::string objection(const problem& p, const detail::call_buffers& buffers);

}  // namespace kselect
