#pragma once
// Checks a k-NN answer against all float64 distances of some of its queries, whichever way the
// search proved itself.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/distance/images.hpp"
#include "search/knn/knn.hpp"

namespace kselect::search {

// An answer as a search delivers it: [Q][k], nearest first.
struct neighbours {
  std::int64_t k = 0;
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
};

class float64_check {
 public:
  // Checks up to `most` queries: the first, the last, some between. `exact`: the search promises
  // the order of float64 distances, equal ones by index; else two that differ by rounding alone may
  // change places. Both sets must outlive this object.
  float64_check(const vector_set& base, const vector_set& queries, metric of, bool graph,
                bool exact, std::int64_t most, int threads);

  std::int64_t queries() const { return static_cast<std::int64_t>(checked_.size()); }
  // Empty if the answer is right for these queries, else one line that names query and defect.
  std::string disprove(const neighbours& answer) const;

 private:
  class one_query;
  std::string disprove(const neighbours& answer, std::int64_t query) const;

  const vector_set& base_;
  const vector_set& queries_;
  metric metric_;
  bool graph_, exact_;
  int threads_;
  std::vector<image> images_;  // of the corpus
  std::vector<std::int64_t> checked_;
};

}  // namespace kselect::search
