#pragma once
// The vectors that the searches of a sweep are measured on: generated, or those of a data set.

#include <memory>
#include <optional>
#include <string>

#include "harness/plan/input.hpp"
#include "runtime/io/vectors.hpp"
#include "search/search.hpp"

namespace kselect::search {

// Corpus and queries of a problem. Searches share them.
struct problem_vectors {
  vector_set base;
  std::optional<vector_set> query;  // empty: every base vector is a query
  const vector_set& queries() const { return query ? *query : base; }
};

class vectors_input : public sweep_input {
 public:
  // The first n vectors and Q queries; of a graph only the vectors. `dimension` is 0 for a data
  // set, which has its own. Throws error(failure::resources) if they do not fit.
  virtual std::shared_ptr<const problem_vectors> vectors(const workload& p, std::int64_t dimension,
                                                         bool graph) const = 0;
  // Of the data set; 0: the problem says it.
  virtual std::int64_t dimension() const = 0;
};

// The hash of the vectors, as records have it.
std::string hash_text(const vector_set& set);

// Throws whatever the readers of files throw.
std::unique_ptr<vectors_input> open_vectors(const input_choice& choice);

}  // namespace kselect::search
