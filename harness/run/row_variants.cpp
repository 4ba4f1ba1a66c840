#include "harness/run/row_variants.hpp"

#include <algorithm>

namespace kselect {
namespace {

constexpr std::int64_t largest_fresh = std::int64_t{1} << 24;  // elements
constexpr int fewest_copies = 3, most_copies = 32;

// Whether two problems have the very same rows (k matters to kth_ties alone).
bool same_rows(const problem& a, const problem& b) {
  return a.n == b.n && a.q == b.q && a.type == b.type && a.layout == b.layout &&
         a.pitch == b.pitch && a.distribution == b.distribution && a.seed == b.seed &&
         (a.k == b.k || a.distribution.kind != distribution_kind::kth_ties);
}

}  // namespace

bool row_variants::fresh() const {
  return problem_ && problem_->input_elements() <= largest_fresh && copies() > 1;
}

int row_variants::copies_for(const problem& p) const {
  const std::size_t bytes = std::max<std::size_t>(p.input_bytes(), 1);
  if (p.input_elements() > largest_fresh) return 1;
  // A CPU's cache cannot be passed by without making its warm times cold.
  const bool on_gpu = !place_.shares_host_memory();
  const std::size_t past_cache =
      on_gpu ? (3 * place_.description().cache_bytes + bytes - 1) / bytes : 0;
  const auto wanted =
      static_cast<int>(std::clamp<std::size_t>(past_cache, fewest_copies, most_copies));
  const std::size_t there = available_memory() / 8;
  return there == 0 ? wanted
                    : static_cast<int>(std::clamp<std::size_t>(there / bytes, 1,
                                                               static_cast<std::size_t>(wanted)));
}

void row_variants::make(row_set& set, int variant) {
  set.rows.reset();
  const std::size_t bytes = problem_->input_bytes();
  if (set.host.size() < bytes) set.host = host_buffer(bytes);
  const std::span<std::byte> rows{set.host.data(), bytes};
  source_.fill(*problem_, rows, variant);
  set.rows = std::make_unique<input_rows>(place_, rows);
  set.variant = variant;
}

void row_variants::require(const problem& p) {
  if (problem_ && same_rows(*problem_, p) && !sets_.empty()) return;
  forget();
  problem_ = p;
  sets_.resize(static_cast<std::size_t>(copies_for(p)));
  for (std::size_t i = 0; i < sets_.size(); ++i) make(sets_[i], static_cast<int>(i));
}

void row_variants::forget() {
  sets_.clear();  // before new ones are allocated: both may not fit
  problem_.reset();
}

const input_rows& row_variants::of_round(int round) {
  row_set& set = sets_[static_cast<std::size_t>(round) % sets_.size()];
  const int variant = fresh() ? round : set.variant;
  if (set.variant != variant) make(set, variant);
  return *set.rows;
}

std::vector<const input_rows*> row_variants::all() const {
  std::vector<const input_rows*> rows;
  for (const row_set& set : sets_) rows.push_back(set.rows.get());
  return rows;
}

}  // namespace kselect
