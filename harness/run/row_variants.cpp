#include "harness/run/row_variants.hpp"

#include <algorithm>

namespace kselect::harness {
namespace {

constexpr std::int64_t largest_fresh = std::int64_t{1} << 24;  // elements
constexpr int fewest_copies = 3, most_copies = 32;
// How often, and for how long, computing distances or copying rows to the host is timed.
constexpr std::size_t most_stage_samples = 5;
constexpr double longest_stage_ns = 5e9;

}  // namespace

bool same_rows(const workload& a, const workload& b) {
  return a.n == b.n && a.q == b.q && a.type == b.type && a.layout == b.layout &&
         a.pitch == b.pitch && a.distribution == b.distribution && a.seed == b.seed &&
         a.row_lengths == b.row_lengths && a.drawn_mask == b.drawn_mask &&
         (a.k == b.k || a.distribution.kind != distribution_kind::kth_ties);
}

bool row_variants::fresh() const {
  if (!problem_) return false;
  return made_at_place() || (problem_->input_elements() <= largest_fresh && copies() > 1);
}

int row_variants::copies_for(const workload& p) const {
  const std::size_t bytes = std::max<std::size_t>(p.input_bytes(), 1);
  if (p.input_elements() > largest_fresh) return 1;
  // On a GPU the copies together exceed the cache. On a CPU that would evict warm rows.
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

std::optional<distance_stage> row_variants::make(row_set& set, int variant) {
  set.rows.reset();
  const std::size_t bytes = problem_->input_bytes();
  std::optional<distance_stage> stage;
  if (made_at_place()) {
    if (set.device.size() < bytes) set.device = device_buffer(place_, bytes);
    stage = source_.fill_at(place_, *problem_, set.device.data(), variant);
    set.rows = std::make_unique<input_rows>(input_rows::made_at(place_, set.device.data(), bytes));
  } else {
    if (set.host.size() < bytes) set.host = host_buffer(bytes);
    const std::span<std::byte> rows{set.host.data(), bytes};
    stage = source_.fill(*problem_, rows, variant);
    set.rows = std::make_unique<input_rows>(place_, rows);
  }
  set.rows->give_places(*problem_);
  set.variant = variant;
  return stage;
}

// Drops the first sample if there are others: it may include loading code.
void row_variants::time_distances(const distance_stage& first) {
  distances_ = stage_times{first.executor, first.clock, {}};
  const auto repeated = [](double first_ns, const auto& again) {
    std::vector<double> samples;
    for (double spent = first_ns; samples.size() < most_stage_samples && spent < longest_stage_ns;
         spent += samples.back()) {
      samples.push_back(again());
    }
    if (samples.empty()) samples.push_back(first_ns);
    return samples;
  };
  row_set& set = sets_.front();
  distances_->samples_ns =
      repeated(first.nanoseconds, [&] { return make(set, set.variant)->nanoseconds; });
  const std::size_t there = available_memory();
  if (!made_at_place() || (there != 0 && there < problem_->input_bytes())) return;
  const auto copy = [&] { return set.rows->time_to_host().nanoseconds; };
  to_host_ = stage_times{place_.description().kind, place_.clock_name(), {}};
  to_host_->samples_ns = repeated(copy(), copy);
}

void row_variants::require(const workload& p) {
  if (problem_ && same_rows(*problem_, p) && !sets_.empty()) return;
  forget();
  problem_ = p;
  sets_.resize(static_cast<std::size_t>(copies_for(p)));
  try {
    std::optional<distance_stage> first;
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      const auto stage = make(sets_[i], static_cast<int>(i));
      if (i == 0) first = stage;
    }
    if (first) time_distances(*first);
  } catch (...) {
    forget();  // no later call may find sets without rows
    throw;
  }
}

void row_variants::forget() {
  sets_.clear();  // freed before new sets are allocated: both may not fit
  problem_.reset();
  distances_.reset();
  to_host_.reset();
}

input_rows& row_variants::of_round(int round) {
  row_set& set = sets_[static_cast<std::size_t>(round) % sets_.size()];
  const int variant = fresh() ? round : set.variant;
  if (!set.rows || set.variant != variant) make(set, variant);
  return *set.rows;
}

std::vector<const input_rows*> row_variants::all() const {
  std::vector<const input_rows*> rows;
  for (const row_set& set : sets_) rows.push_back(set.rows.get());
  return rows;
}

}  // namespace kselect::harness
