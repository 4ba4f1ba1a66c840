#include "harness/plan/shard.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

// Rough elements per second of one pass over the rows. Executors differ by orders of magnitude, so
// one digit is enough.
std::int64_t elements_per_second(executor_kind kind) {
  switch (kind) {
    case executor_kind::cuda:
      return 100'000'000'000;
    case executor_kind::fiber:
      return 5'000'000;
    case executor_kind::cpu:
      break;
  }
  return 500'000'000;
}
constexpr std::int64_t proven_per_second = 1'000'000'000;
constexpr std::int64_t made_per_second = 200'000'000;
constexpr std::int64_t most_pass_us = std::int64_t{1} << 40;
constexpr std::int64_t call_us = 10;  // of a run on an empty problem

std::int64_t pass_us(const problem& p, std::int64_t per_second) {
  // n and Q are at most 2^40 each.
  const auto elements = static_cast<double>(p.n) * static_cast<double>(p.q);
  return static_cast<std::int64_t>(elements * 1e6 / static_cast<double>(per_second));
}

// The time to make the rows of a group that holds this cell.
std::int64_t rows_us(const cell& c) { return pass_us(c.problem, made_per_second); }

std::int64_t run_us(const cell& c) {
  const std::int64_t pass = pass_us(c.problem, elements_per_second(c.executor));
  // Of another task a run takes many passes: no more of them than 64 bits can count.
  return call_us + (c.task == nullptr ? pass : std::min(pass, most_pass_us) * c.task->passes(c));
}

std::int64_t predicted_us(const cell& c, const measure_policy& policy) {
  const std::int64_t proof = pass_us(c.problem, proven_per_second);
  const std::int64_t run = run_us(c);
  // Fibers count the work of kernels in one run.
  if (c.executor == executor_kind::fiber) return run + proof;
  const auto longest = static_cast<std::int64_t>(policy.max_seconds * 1e6);
  const std::int64_t runs = policy.min_samples + std::int64_t{policy.rounds} * policy.warmup;
  return std::min(longest, runs * run) + (policy.rounds + 2) * proof;
}

std::string in_hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

// Hashes algorithm, executor and problem of cells.
class identity_hash {
 public:
  identity_hash() : state_(XXH3_createState()) { XXH3_64bits_reset(state_.get()); }
  void add(const cell& c) {
    const std::string line =
        fmt::format("{} {} {}\n", name_of(c), to_string(c.executor), problem_of(c));
    XXH3_64bits_update(state_.get(), line.data(), line.size());
  }
  std::string text() const { return in_hex(XXH3_64bits_digest(state_.get())); }

 private:
  struct releaser {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, releaser> state_;
};

// Cells that are there.
class listed_cells final : public cell_source {
 public:
  explicit listed_cells(std::vector<cell> cells) : cells_(std::move(cells)) {
    for (std::size_t i = 0; i < cells_.size(); ++i) cells_[i].number = static_cast<std::int64_t>(i);
  }
  std::int64_t size() const override { return std::ssize(cells_); }
  std::vector<algorithm_count> counts() const override { return {}; }
  std::string identity() const override {
    identity_hash hash;
    for (const cell& c : cells_) hash.add(c);
    return hash.text();
  }
  std::unique_ptr<cursor> begin() const override { return std::make_unique<walk>(cells_); }
  void complete(cell&) const override {}

 private:
  class walk final : public cursor {
   public:
    explicit walk(const std::vector<cell>& cells) : cells_(cells) {}
    bool next(cell& c) override {
      if (at_ == cells_.size()) return false;
      c = cells_[at_++];
      return true;
    }

   private:
    const std::vector<cell>& cells_;
    std::size_t at_ = 0;
  };

  std::vector<cell> cells_;
};

// The shard, from 0, of a group of a plan beyond most_listed.
std::uint32_t hashed_shard(const cell& c, int shards) {
  const workload& p = c.problem;
  const std::uint64_t facts[] = {static_cast<std::uint64_t>(p.n),
                                 static_cast<std::uint64_t>(p.q),
                                 static_cast<std::uint64_t>(p.k),
                                 static_cast<std::uint64_t>(p.type),
                                 static_cast<std::uint64_t>(p.direction),
                                 static_cast<std::uint64_t>(p.payload),
                                 static_cast<std::uint64_t>(p.index),
                                 static_cast<std::uint64_t>(p.distribution.kind),
                                 std::bit_cast<std::uint64_t>(p.distribution.parameter),
                                 static_cast<std::uint64_t>(c.executor)};
  std::uint64_t hash = XXH3_64bits(facts, sizeof facts);
  for (const setting& s : c.of_problem) {
    const std::string text = to_string(s);
    hash = XXH3_64bits_withSeed(text.data(), text.size(), hash);
  }
  return static_cast<std::uint32_t>(hash % static_cast<std::uint64_t>(shards));
}

// The shard of each group, from 0, by Graham's rule (shard.hpp).
std::vector<std::uint32_t> dealt(const std::vector<std::int64_t>& lengths, std::size_t shards) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t g) { return lengths[g]; });
  std::vector<std::int64_t> load(shards);
  std::vector<std::uint32_t> shard_of(lengths.size());
  for (const std::size_t g : order) {
    const auto least = std::ranges::min_element(load);
    *least += lengths[g];
    shard_of[g] = static_cast<std::uint32_t>(least - load.begin());
  }
  return shard_of;
}

}  // namespace

shard parse_shard(std::string_view text) {
  shard found;
  const char* const end = text.data() + text.size();
  const auto [slash, bad_index] = std::from_chars(text.data(), end, found.index);
  const bool has_count = bad_index == std::errc{} && slash != end && *slash == '/';
  const auto [stop, bad_count] = std::from_chars(has_count ? slash + 1 : end, end, found.count);
  if (!has_count || bad_count != std::errc{} || stop != end || found.index < 1 ||
      found.index > found.count || found.count > most_shards) {
    throw error(failure::usage,
                fmt::format("--shard '{}': expected I/N with 1 <= I <= N <= {}, such as 2/3", text,
                            most_shards));
  }
  return found;
}

double rough_run_seconds(const cell& c) { return static_cast<double>(run_us(c)) * 1e-6; }

std::int64_t predicted_us(const std::vector<cell>& group, const measure_policy& policy) {
  std::int64_t sum = rows_us(group.front());
  for (const cell& c : group) sum += predicted_us(c, policy);
  return sum;
}

shard_cells::iterator::iterator(const shard_cells& cells)
    : cells_(&cells), cursor_(cells.all_->begin()) {
  ++*this;
}

shard_cells::iterator& shard_cells::iterator::operator++() {
  do {
    ended_ = !cursor_->next(current_);
  } while (!ended_ && !cells_->contains(current_, groups_));
  if (!ended_) cells_->all_->complete(current_);
  return *this;
}

bool shard_cells::contains(const cell& c, group_numbers& groups) const {
  if (which_.count == 1) return true;
  const std::uint32_t of = shard_of_.empty() ? hashed_shard(c, which_.count)
                                             : shard_of_[static_cast<std::size_t>(groups.of(c))];
  return of + 1 == static_cast<std::uint32_t>(which_.index);
}

// Makes a part: assigns groups to shards and adds up the times.
class sharding {
 public:
  sharding(std::shared_ptr<const cell_source> all, const measure_policy& policy,
           harness::shard which)
      : policy_(policy), load_(static_cast<std::size_t>(which.count)) {
    part_.shard = which;
    part_.cells_of_all = static_cast<std::size_t>(all->size());
    part_.counts = all->counts();
    part_.cells.which_ = which;
    part_.cells.all_ = std::move(all);
  }

  sweep_part made() && {
    if (part_.cells_of_all <= static_cast<std::size_t>(most_listed)) {
      by_length();
    } else {
      by_hash();
    }
    if (part_.cells.empty()) {
      throw error(failure::usage, fmt::format("--shard {}/{}: nothing is left for it{}",
                                              part_.shard.index, part_.shard.count, groups_));
    }
    part_.predicted_us = load_[static_cast<std::size_t>(part_.shard.index - 1)];
    part_.longest_predicted_us = std::ranges::max(load_);
    return std::move(part_);
  }

 private:
  void by_length() {
    std::vector<std::int64_t> lengths, sizes;
    group_numbers groups;
    identity_hash identity;
    const auto cursor = part_.cells.all_->begin();
    for (cell c; cursor->next(c);) {
      const auto group = static_cast<std::size_t>(groups.of(c));
      if (group == lengths.size()) {
        lengths.push_back(rows_us(c));
        sizes.push_back(0);
      }
      lengths[group] += predicted_us(c, policy_);
      ++sizes[group];
      identity.add(c);
    }
    part_.plan = identity.text();
    part_.cells.shard_of_ = dealt(lengths, load_.size());
    for (std::size_t g = 0; g < lengths.size(); ++g) {
      const std::uint32_t of = part_.cells.shard_of_[g];
      load_[of] += lengths[g];
      if (of + 1 == static_cast<std::uint32_t>(part_.shard.index)) {
        part_.cells.size_ += static_cast<std::size_t>(sizes[g]);
      }
    }
    groups_ =
        fmt::format(", the sweep has {} cell groups; use at most that many shards", lengths.size());
  }

  void by_hash() {
    const std::string identity = part_.cells.all_->identity();
    part_.plan = in_hex(XXH3_64bits(identity.data(), identity.size()));
    if (part_.shard.count == 1) {
      part_.cells.size_ = part_.cells_of_all;
      return;
    }
    group_numbers groups;
    const auto cursor = part_.cells.all_->begin();
    std::int64_t known = 0;
    for (cell c; cursor->next(c);) {
      const std::uint32_t of = hashed_shard(c, part_.shard.count);
      groups.of(c);
      if (groups.count() != known) load_[of] += rows_us(c);
      known = groups.count();
      load_[of] += predicted_us(c, policy_);
      part_.cells.size_ += of + 1 == static_cast<std::uint32_t>(part_.shard.index) ? 1 : 0;
    }
  }

  const measure_policy& policy_;
  std::vector<std::int64_t> load_;  // of each shard, in microseconds
  sweep_part part_;
  std::string groups_;
};

sweep_part part_of(std::shared_ptr<const cell_source> all, const measure_policy& policy,
                   harness::shard which) {
  return sharding(std::move(all), policy, which).made();
}

sweep_part part_of(std::vector<cell> cells, const measure_policy& policy, harness::shard which) {
  return part_of(std::make_shared<listed_cells>(std::move(cells)), policy, which);
}

nlohmann::ordered_json plan_json(const sweep_part& part) {
  return {{"shard", part.shard.index},         {"of", part.shard.count},
          {"cells", part.cells.size()},        {"cells_of_all", part.cells_of_all},
          {"predicted_us", part.predicted_us}, {"hash", part.plan}};
}

}  // namespace kselect::harness
