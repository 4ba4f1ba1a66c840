#include "harness/plan/shard.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "harness/plan/groups.hpp"
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
constexpr std::int64_t call_us = 10;  // of a run on an empty problem

std::int64_t pass_us(const problem& p, std::int64_t per_second) {
  // n and Q are at most 2^40 each.
  const auto elements = static_cast<double>(p.n) * static_cast<double>(p.q);
  return static_cast<std::int64_t>(elements * 1e6 / static_cast<double>(per_second));
}

std::int64_t predicted_us(const cell& c, const measure_policy& policy) {
  const std::int64_t proof = pass_us(c.problem, proven_per_second);
  const std::int64_t run = call_us + pass_us(c.problem, elements_per_second(c.executor));
  // Fibers count the work of kernels in one run.
  if (c.executor == executor_kind::fiber) return run + proof;
  const auto longest = static_cast<std::int64_t>(policy.max_seconds * 1e6);
  const std::int64_t runs = policy.min_samples + std::int64_t{policy.rounds} * policy.warmup;
  return std::min(longest, runs * run) + (policy.rounds + 2) * proof;
}

std::string identity_of(const std::vector<cell>& cells) {
  XXH3_state_t* const state = XXH3_createState();
  XXH3_64bits_reset(state);
  for (const cell& c : cells) {
    const std::string line = fmt::format("{} {} {}\n", c.entry->algorithm->name,
                                         to_string(c.executor), to_string(c.problem));
    XXH3_64bits_update(state, line.data(), line.size());
  }
  const auto hash = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{:016x}", hash);
}

// The shard of each group, from 0, by Graham's rule (shard.hpp).
std::vector<std::size_t> dealt(const std::vector<std::int64_t>& lengths, std::size_t shards) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t g) { return lengths[g]; });
  std::vector<std::int64_t> load(shards);
  std::vector<std::size_t> shard_of(lengths.size());
  for (const std::size_t g : order) {
    const auto least = std::ranges::min_element(load);
    *least += lengths[g];
    shard_of[g] = static_cast<std::size_t>(least - load.begin());
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

std::int64_t predicted_us(const std::vector<const cell*>& group, const measure_policy& policy) {
  std::int64_t sum = pass_us(group.front()->problem, made_per_second);
  for (const cell* c : group) sum += predicted_us(*c, policy);
  return sum;
}

sweep_part part_of(std::vector<cell> cells, const measure_policy& policy, harness::shard which) {
  std::vector<const cell*> all;
  for (const cell& c : cells) all.push_back(&c);
  const auto groups = grouped(all);
  std::vector<std::int64_t> lengths;
  for (const auto& group : groups) lengths.push_back(predicted_us(group, policy));
  const auto shards = static_cast<std::size_t>(which.count);
  const std::vector<std::size_t> shard_of = dealt(lengths, shards);

  sweep_part part{
      .shard = which, .cells = {}, .cells_of_all = cells.size(), .plan = identity_of(cells)};
  std::vector<std::int64_t> load(shards);
  std::vector<const cell*> mine;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    load[shard_of[g]] += lengths[g];
    if (shard_of[g] + 1 != static_cast<std::size_t>(which.index)) continue;
    mine.insert(mine.end(), groups[g].begin(), groups[g].end());
  }
  if (mine.empty()) {
    throw error(failure::usage,
                fmt::format("--shard {}/{}: nothing is left for it, the sweep has {} cell groups; "
                            "use at most that many shards",
                            which.index, which.count, groups.size()));
  }
  part.predicted_us = load[static_cast<std::size_t>(which.index - 1)];
  part.longest_predicted_us = std::ranges::max(load);
  std::ranges::sort(mine);  // pointers into one array: the plan's order
  for (const cell* c : mine) part.cells.push_back(*c);
  return part;
}

nlohmann::ordered_json plan_json(const sweep_part& part) {
  return {{"shard", part.shard.index},         {"of", part.shard.count},
          {"cells", part.cells.size()},        {"cells_of_all", part.cells_of_all},
          {"predicted_us", part.predicted_us}, {"hash", part.plan}};
}

}  // namespace kselect::harness
