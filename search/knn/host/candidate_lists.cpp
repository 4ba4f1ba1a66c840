#include "search/knn/host/candidate_lists.hpp"

namespace kselect::search {

candidate_lists::candidate_lists(std::int64_t lists, std::int64_t k)
    : k_(k),
      length_(length_for(k)),
      pending_(at(lists * length_)),
      best_(at(lists * k)),
      counts_(at(lists)),
      known_(at(lists)),
      compared_(at(lists)),
      thresholds_(at(lists), std::numeric_limits<double>::infinity()) {}

void candidate_lists::prune(std::int64_t list) {
  candidate* const first = pending_.data() + list * length_;
  candidate* const end = first + counts_[at(list)];
  if (end - first >= k_) {
    candidate* const kth = first + k_ - 1;
    std::nth_element(first, kth, end,
                     [](const candidate& a, const candidate& b) { return a.most < b.most; });
    lower(list, kth->most);
  }
  const double threshold = thresholds_[at(list)];
  candidate* const kept =
      std::remove_if(first, end, [&](const candidate& c) { return c.least > threshold; });
  counts_[at(list)] = kept - first;
}

void candidate_lists::keep(std::int64_t list, const ranked_neighbour& n) {
  ranked_neighbour* const best = best_.data() + list * k_;
  std::int64_t& known = known_[at(list)];
  if (known < k_) {
    best[known++] = n;
    std::push_heap(best, best + known);
  } else if (n < best[0]) {
    std::pop_heap(best, best + k_);
    best[k_ - 1] = n;
    std::push_heap(best, best + k_);
  }
  if (known == k_) lower(list, best[0].ranked);
}

}  // namespace kselect::search
