#include "harness/compare/merged_record.hpp"

#include <algorithm>
#include <string>

#include "harness/compare/statistics.hpp"
#include "harness/measure/statistics.hpp"

namespace kselect::harness::compare {
namespace {

using cells = std::vector<const recorded_cell*>;

// A member of a record; null if absent, because older programs write fewer members.
const json& member(const json& of, const char* name) {
  static const json nothing;
  if (!of.is_object()) return nothing;
  const auto found = of.find(name);
  return found == of.end() ? nothing : *found;
}

std::vector<double> numbers(const json& list) {
  std::vector<double> found;
  for (const json& value : list) {
    if (value.is_number()) found.push_back(value);
  }
  return found;
}

// Median, interval and rounds of one way of timing, from the turns' medians; null if no turn has
// one.
json over_rounds(json rounds) {
  const std::vector<double> medians = numbers(rounds);
  if (medians.empty()) return nullptr;
  const summary of = summarise(medians);
  return {{"median", of.median}, {"ci95", {of.ci_low, of.ci_high}}, {"rounds", std::move(rounds)}};
}

class merger {
 public:
  // `turns`: the turns of one cell; `first`: the first of them that has a time.
  merger(std::span<const recorded_cell* const> turns, const recorded_cell& first) : first_(first) {
    for (const recorded_cell* turn : turns) {
      timed_.push_back(turn != nullptr && turn->time ? turn : nullptr);
    }
  }

  json time() const {
    json merged = first_.record.at("time");
    const std::vector<double> samples = all_samples();
    const summary of_samples = summarise(samples);
    merged.update(over_rounds(each([](const json& time) { return time.at("median"); })));
    merged["q1"] = of_samples.q1;
    merged["q3"] = of_samples.q3;
    merged["min"] = of_samples.min;
    merged["max"] = of_samples.max;
    merged["stop"] = "turns";
    merged["gap_hidden"] = every([](const recorded_cell& turn) {
      return member(turn.record["time"], "gap_hidden") == json(true);
    });
    merged["round_sizes"] = sizes();
    merged["samples"] = samples;
    merged["outliers"] = far_out(samples);
    merged["wall"] = side("wall");
    merged["batch"] = side("batch");
    if (!merged["batch"].is_null()) merged["batch"]["calls"] = fewest_calls();
    merged["sm_mhz"] = clocks();
    return merged;
  }

  // The share of the floor, relative to the median of the ceilings that the turns measured.
  json floor(double median_ns) const {
    json merged = member(first_.record, "floor");
    std::vector<double> ceilings;  // bytes a nanosecond
    for (const recorded_cell* turn : there()) {
      const json& seen = member(turn->record, "floor");
      if (seen.is_null() || seen.at("ceiling") != member(merged, "ceiling")) continue;
      ceilings.push_back(seen.at("bytes").get<double>() / turn->time->median /
                         seen.at("share").get<double>());
    }
    if (!ceilings.empty()) {
      merged["share"] = merged.at("bytes").get<double>() / median_ns / median(ceilings);
    }
    return merged;
  }

 private:
  cells there() const {
    cells found;
    std::ranges::copy_if(timed_, std::back_inserter(found),
                         [](const recorded_cell* turn) { return turn != nullptr; });
    return found;
  }

  template <class Holds>
  bool every(const Holds& holds) const {
    return std::ranges::all_of(there(), [&](const recorded_cell* turn) { return holds(*turn); });
  }

  // `value` of each turn's time; null if the turn has no time.
  template <class Value>
  json each(const Value& value) const {
    json list = json::array();
    for (const recorded_cell* turn : timed_) {
      list.push_back(turn == nullptr ? json() : json(value(turn->record.at("time"))));
    }
    return list;
  }

  std::vector<double> all_samples() const {
    std::vector<double> all;
    for (const recorded_cell* turn : there()) {
      // A record may hold only its median.
      if (turn->time->samples.empty()) all.push_back(turn->time->median);
      all.insert(all.end(), turn->time->samples.begin(), turn->time->samples.end());
    }
    return all;
  }

  json sizes() const {
    json list = json::array();
    for (const recorded_cell* turn : timed_) {
      list.push_back(turn == nullptr ? 0 : std::max<std::size_t>(1, turn->time->samples.size()));
    }
    return list;
  }

  json side(const char* name) const {
    return over_rounds(
        each([&](const json& time) { return member(member(time, name), "median"); }));
  }

  json fewest_calls() const {
    json fewest;
    for (const recorded_cell* turn : there()) {
      const json& calls = member(member(turn->record["time"], "batch"), "calls");
      if (calls.is_number() && (fewest.is_null() || calls < fewest)) fewest = calls;
    }
    return fewest;
  }

  // The mean clock of each turn.
  json clocks() const {
    json means = each([](const json& time) {
      const std::vector<double> mhz = numbers(member(time, "sm_mhz"));
      double sum = 0;
      for (const double value : mhz) sum += value;
      return mhz.empty() ? json() : json(sum / static_cast<double>(mhz.size()));
    });
    return numbers(means).empty() ? json() : means;
  }

  const recorded_cell& first_;
  cells timed_;
};

// The lesser (`lower`) or greater of two values. If one is null, the other.
json bound(const json& a, const json& b, bool lower) {
  if (a.is_null() || b.is_null()) return a.is_null() ? b : a;
  return (a < b) == lower ? a : b;
}

// Merges the GPU states of the turns: all event reasons, the extremes of temperature and power.
json merged_gpu_state(const cells& turns) {
  json all;
  for (const recorded_cell* turn : turns) {
    const json& seen = member(turn->record, "gpu_state");
    if (seen.is_null()) continue;
    if (all.is_null()) {
      all = seen;
      continue;
    }
    all["event_reasons"] = all.at("event_reasons").get<std::uint64_t>() |
                           seen.at("event_reasons").get<std::uint64_t>();
    const json &was = all.at("temperature_c"), &is = seen.at("temperature_c");
    all["temperature_c"] = json::array({bound(was[0], is[0], true), bound(was[1], is[1], false)});
    all["most_power_w"] = bound(all.at("most_power_w"), seen.at("most_power_w"), false);
  }
  return all;
}

json merged_proof(const cells& turns) {
  json all;
  for (const recorded_cell* turn : turns) {
    const json& proof = member(turn->record, "verify");
    if (proof.is_null()) continue;
    if (all.is_null()) {
      all = proof;
      continue;
    }
    all["answers"] = all.value("answers", 0) + proof.value("answers", 0);
    for (const char* const when : {"before", "after"}) {
      all[when] = member(all, when) == json(true) && member(proof, when) == json(true);
    }
    // The merged proof names the device only if all turns' answers were proven there.
    if (member(proof, "method") == json("certificate")) all["method"] = "certificate";
  }
  return all;
}

}  // namespace

json merged_record(std::span<const recorded_cell* const> turns) {
  cells there;
  std::ranges::copy_if(turns, std::back_inserter(there),
                       [](const recorded_cell* turn) { return turn != nullptr; });
  const auto wrong = std::ranges::find(there, cell_status::wrong, &recorded_cell::status);
  if (wrong != there.end()) return (*wrong)->record;
  const auto timed =
      std::ranges::find_if(there, [](const recorded_cell* turn) { return turn->time.has_value(); });
  if (timed == there.end()) return there.front()->record;

  const recorded_cell& first = **timed;
  const merger merged(turns, first);
  json record = first.record;
  record["time"] = merged.time();
  record["floor"] = merged.floor(record["time"]["median"]);
  cells with_time;
  double seconds = 0;
  bool throttled = false, pinned = true;
  for (const recorded_cell* turn : there) {
    seconds += turn->record.value("elapsed_s", 0.0);
    throttled = throttled || turn->throttled;
    if (!turn->time) continue;
    with_time.push_back(turn);
    pinned = pinned && turn->record.value("pinned", false);
  }
  record["throttled"] = throttled;
  record["pinned"] = pinned;
  record["gpu_state"] = merged_gpu_state(there);
  record["verify"] = merged_proof(with_time);
  record["elapsed_s"] = seconds;
  return record;
}

json merged_meta(std::span<const recorded_run> turns) {
  json meta = turns.front().meta;
  if (!member(meta, "floor").is_object()) return meta;
  for (auto& [executor, rates] : meta["floor"].items()) {
    for (auto& [name, rate] : rates.items()) {
      std::vector<double> seen;
      for (const recorded_run& turn : turns) {
        const json found = turn.fact({"floor", executor.c_str(), name.c_str()});
        if (found.is_number()) seen.push_back(found);
      }
      if (!seen.empty()) rate = median(seen);
    }
  }
  return meta;
}

}  // namespace kselect::harness::compare
