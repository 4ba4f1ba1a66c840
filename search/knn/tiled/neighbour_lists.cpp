#include "search/knn/tiled/neighbour_lists.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/backend/host_backend.hpp"

namespace kselect::search {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr int most_fillers = 8;
constexpr std::size_t least_to_share = std::size_t{1} << 18;

struct entry {
  double ranked;
  std::int64_t index;
  float distance;

  bool operator<(const entry& other) const {
    return ranked != other.ranked ? ranked < other.ranked : index < other.index;
  }
};

double ranked_at(std::span<const double> ranked, std::span<const float> distances, std::size_t i) {
  return ranked.empty() ? distances[i] : ranked[i];
}

// The rest of one list, from its nearest on.
struct head {
  entry nearest;
  std::int64_t at, end;
  bool operator>(const head& other) const { return other.nearest < nearest; }
};

head head_at(const list_columns& from, std::int64_t at, std::int64_t end) {
  return {{ranked_at(from.ranked, from.distances, index(at)), from.indices[index(at)],
           from.distances[index(at)]},
          at,
          end};
}

// The heads of one query's lists. A heap keeps many; of few the least is found sooner by looking
// at all.
class query_heads {
 public:
  void begin(std::int64_t lists, const list_columns& from, std::int64_t q, std::int64_t queries,
             std::int64_t k) {
    heads_.clear();
    ended_ = false;
    for (std::int64_t l = 0; l < lists; ++l) {
      const std::int64_t first = (l * queries + q) * k;
      add(head_at(from, first, first + k));
    }
    in_heap_ = lists > most_looked_at;
    if (in_heap_) std::ranges::make_heap(heads_, std::greater<>{});
  }
  // Whether a list has no neighbour any more.
  bool one_ended() const { return ended_; }
  // Takes the nearest of all heads.
  entry take(const list_columns& from) {
    if (in_heap_) {
      std::ranges::pop_heap(heads_, std::greater<>{});
    } else {
      std::swap(*std::ranges::min_element(heads_, std::less<>{}, &head::nearest), heads_.back());
    }
    head& least = heads_.back();
    const entry taken = least.nearest;
    const std::int64_t next = least.at + 1, end = least.end;
    heads_.pop_back();
    if (next == end) {
      ended_ = true;
      return taken;
    }
    add(head_at(from, next, end));
    if (in_heap_) std::ranges::push_heap(heads_, std::greater<>{});
    return taken;
  }

 private:
  static constexpr std::int64_t most_looked_at = 8;
  void add(const head& of_list) {
    ended_ = ended_ || of_list.nearest.index == no_neighbour;
    heads_.push_back(of_list);
  }
  std::vector<head> heads_;
  bool in_heap_ = false, ended_ = false;
};

void put(const entry& found, std::int64_t at, neighbour_lists& out) {
  out.distances()[index(at)] = found.distance;
  out.ranked()[index(at)] = found.ranked;
  out.indices()[index(at)] = found.index;
}

// Merges the lists of query q. `heads` is memory for them. A neighbour of several lists counts
// once.
void merge_query(std::int64_t lists, const list_columns& from, std::int64_t q, query_heads& heads,
                 neighbour_lists& out) {
  const std::int64_t k = out.k();
  heads.begin(lists, from, q, out.queries(), k);
  std::int64_t last = no_neighbour;
  for (std::int64_t i = 0; i < k;) {
    const entry nearest = heads.take(from);
    if (nearest.index == last && last != no_neighbour) continue;
    last = nearest.index;
    put(nearest, q * k + i++, out);
  }
}

// The same, until a list ends. Returns whether that was before the k-th.
bool merge_beginning(std::int64_t lists, std::int64_t length, const list_columns& from,
                     std::int64_t q, query_heads& heads, neighbour_lists& out) {
  const std::int64_t k = out.k();
  heads.begin(lists, from, q, out.queries(), length);
  std::int64_t i = 0;
  while (i < k && !heads.one_ended()) put(heads.take(from), q * k + i++, out);
  const bool lacks = i < k;
  while (i < k) put({infinity, no_neighbour, infinity}, q * k + i++, out);
  return lacks;
}

// Calls merge(q, heads) for all queries. Each thread has heads of its own.
template <class Merge>
void for_queries(std::int64_t queries, int threads, const Merge& merge) {
#pragma omp parallel num_threads(threads)
  {
    query_heads heads;
#pragma omp for schedule(static)
    for (std::int64_t q = 0; q < queries; ++q) merge(q, heads);
  }
}

}  // namespace

neighbour_lists::neighbour_lists(std::int64_t queries, std::int64_t k)
    : queries_(queries),
      k_(k),
      most_(queries * k),
      distances_(runtime::make_pages<float>(size())),
      ranked_(runtime::make_pages<double>(size())),
      indices_(runtime::make_pages<std::int64_t>(size())) {
  clear();
}

neighbour_lists& neighbour_lists::operator=(neighbour_lists&& other) noexcept {
  pinned_ = std::move(other.pinned_);
  queries_ = other.queries_;
  k_ = other.k_;
  most_ = other.most_;
  distances_ = std::move(other.distances_);
  ranked_ = std::move(other.ranked_);
  indices_ = std::move(other.indices_);
  return *this;
}

void neighbour_lists::pin(backend& place) {
  shape(most_ / k_, k_);
  pinned_ = {place.pin(std::as_writable_bytes(distances())),
             place.pin(std::as_writable_bytes(ranked())),
             place.pin(std::as_writable_bytes(indices()))};
}

void neighbour_lists::clear() {
  // Fresh pages cost the first thread that writes them more than the writing.
  const int threads =
      size() < least_to_share ? 1 : std::min(most_fillers, runtime::threads_to_use(0));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t i = 0; i < size(); ++i) {
    distances_[i] = infinity;
    ranked_[i] = infinity;
    indices_[i] = no_neighbour;
  }
}

void neighbour_lists::number_from(std::int64_t first, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t i = 0; i < size(); ++i) {
    indices_[i] = indices_[i] < 0 ? no_neighbour : indices_[i] + first;
  }
}

void neighbour_lists::merge(std::int64_t query, const found& list) {
  float* const distances = distances_.get() + query * k_;
  double* const ranked = ranked_.get() + query * k_;
  std::int64_t* const indices = indices_.get() + query * k_;
  // First counts the elements of either list that survive. Then the merge runs backwards, in place.
  const auto at = [&](std::int64_t i) {
    return entry{ranked_at(list.ranked, list.distances, index(i)),
                 list.indices[index(i)] + list.offset, list.distances[index(i)]};
  };
  const auto mine = [&](std::int64_t i) { return entry{ranked[i], indices[i], distances[i]}; };
  const std::int64_t length = std::ssize(list.indices);
  std::int64_t taken = 0, kept = 0, skipped = 0;
  while (taken + kept < k_) {
    if (taken + skipped < length && at(taken + skipped).index == list.excluded) {
      ++skipped;
    } else if (taken + skipped < length && at(taken + skipped) < mine(kept)) {
      ++taken;
    } else {
      ++kept;
    }
  }
  std::int64_t next = taken + skipped - 1;
  for (std::int64_t out = k_ - 1; taken > 0; --out) {
    if (at(next).index == list.excluded) --next;
    const bool from_mine = kept > 0 && at(next) < mine(kept - 1);
    const entry chosen = from_mine ? mine(--kept) : at(next);
    if (!from_mine) {
      --next;
      --taken;
    }
    distances[out] = chosen.distance;
    ranked[out] = chosen.ranked;
    indices[out] = chosen.index;
  }
}

void merge_lists(std::int64_t lists, const list_columns& from, int threads, neighbour_lists& out) {
  for_queries(out.queries(), threads,
              [&](std::int64_t q, query_heads& heads) { merge_query(lists, from, q, heads, out); });
}

void merge_beginnings(std::int64_t lists, std::int64_t length, const list_columns& from,
                      int threads, neighbour_lists& out, std::span<std::uint8_t> lacking) {
  for_queries(out.queries(), threads, [&](std::int64_t q, query_heads& heads) {
    lacking[index(q)] = merge_beginning(lists, length, from, q, heads, out) ? 1 : 0;
  });
}

}  // namespace kselect::search
