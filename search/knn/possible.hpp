#pragma once
// Whether there are k neighbours to find, in memory and in tiles alike.

#include <cstdint>
#include <string>

#include "runtime/distance/distance.hpp"

namespace kselect::search {

struct set_size {
  const std::string& name;  // of its files
  std::int64_t count, dimension;
};

// Throws error(failure::input) if the dimensions differ, and error(failure::usage) if there are no
// queries or not k candidates for each. An empty base has 0 candidates.
void require_possible(const set_size& base, const set_size& queries, std::int64_t k,
                      bool exclude_self);

// Throws error(failure::unsupported) for inner products and filters, which the older products of
// executor cuda do not have.
void require_older_products(runtime::metric of, bool filtered);

}  // namespace kselect::search
