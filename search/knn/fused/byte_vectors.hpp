#pragma once
// Vectors of bytes, which products in integers take: components are integers from 0 to 255, or from
// -128 to 127.

#include "runtime/io/vectors.hpp"
#include "search/search.hpp"

namespace kselect::search {

// Throws error(failure::input) that names the first component that is no such integer. `first`: the
// number of the set's first vector, where it is a part of more.
void require_bytes(const vector_set& set, std::int64_t first = 0);

// Whether two sets are bytes of the same kind. Reads all components, unless one is none.
bool hold_bytes(const vector_set& one, const vector_set& other);

}  // namespace kselect::search
