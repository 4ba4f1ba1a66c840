#include "harness/battery/attempt.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>

#include <fmt/format.h>
#include <xxhash.h>

#include "harness/run/trial.hpp"
#include "harness/workload/rows.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"

namespace kselect::harness {
using namespace runtime;

namespace {

// An entry's number among the entries of its file that run on the executor, and their count.
struct family_place {
  int number = 0, count = 0;
};

family_place place_in_family(const contender& c) {
  family_place found;
  for (const registered& row : registry()) {
    if (row.file != c.entry->file || !row.algorithm->executors.contains(c.executor)) continue;
    if (&row == c.entry) found.number = found.count;
    ++found.count;
  }
  return found;
}

// The pick differs between cases and files, so that one run covers many variants.
bool left_to_others(const battery_case& one, const contender& c, const battery_mode& mode) {
  if (!mode.starts_with("sample:") || c.executor != executor_kind::fiber) return false;
  const std::string text = mode + std::string(one.name) + std::string(c.entry->file);
  const family_place own = place_in_family(c);
  const std::uint64_t pick = XXH3_64bits(text.data(), text.size());
  return static_cast<int>(pick % static_cast<std::uint64_t>(own.count)) != own.number;
}

// The wanted value if the set has it, else the first that it has.
template <class Enum>
Enum one_of(enum_set<Enum> declared, Enum wanted) {
  if (declared.contains(wanted)) return wanted;
  for (const auto& candidate : names<Enum>) {
    if (declared.contains(candidate.value)) return candidate.value;
  }
  return wanted;
}

bool taken_as_word(dtype type) {
  return visit_bits(type, []<class T>(T) { return is_word<T>; });
}

bool has_turn(const std::vector<dtype>& all, dtype type, int turn) {
  return !all.empty() && all[static_cast<std::size_t>(turn) % all.size()] == type;
}

[[noreturn]] void refuse(const battery_mode& mode) {
  throw error(failure::usage,
              fmt::format("KSELECT_BATTERY={}: is none of full, shared, sample:SEED and every:N, "
                          "where N is a positive number",
                          mode));
}

// N of "every:N"; 1 of any other mode.
int step_of(const battery_mode& mode) {
  constexpr std::string_view every = "every:";
  if (!mode.starts_with(every)) return 1;
  const char *const first = mode.data() + every.size(), *const last = mode.data() + mode.size();
  int step = 0;
  const auto read = std::from_chars(first, last, step);
  if (read.ec != std::errc() || read.ptr != last || step < 1) refuse(mode);
  return step;
}

bool takes_turns(const contender& c, const battery_mode& mode) {
  if (mode == "full") return false;
  return mode == "shared" || c.executor == executor_kind::fiber;
}

}  // namespace

std::vector<contender> contenders(std::optional<executor_kind> only) {
  std::vector<contender> all;
  for (const registered& row : registry()) {
    for (const auto& kind : names<executor_kind>) {
      if (only.value_or(kind.value) != kind.value) continue;
      if (row.algorithm->executors.contains(kind.value)) all.push_back({&row, kind.value});
    }
  }
  return all;
}

std::string why_not(const contender& c) {
  const algorithm& entry = *c.entry->algorithm;
  return entry.missing.empty() ? why_unavailable(c.executor) : std::string(entry.missing);
}

battery_mode battery_mode_of_environment() {
  const char* const set = std::getenv("KSELECT_BATTERY");
  battery_mode mode = set == nullptr ? "" : set;
  const bool known = mode.empty() || mode == "full" || mode == "shared" ||
                     mode.starts_with("sample:") || mode.starts_with("every:");
  if (!known) refuse(mode);
  step_of(mode);  // refuses what is no number
  return mode;
}

battery_attempt::battery_attempt(const battery_case& one, const contender& c,
                                 const battery_mode& mode)
    : contender_(c), sampled_out_(left_to_others(one, c, mode)) {
  constexpr int most = 6;
  if (takes_turns(c, mode)) {
    const family_place own = place_in_family(c);
    share_ = std::min(own.count, most);
    offset_ = own.number % share_;
  }
  const std::string text = std::string(one.name) + std::string(entry().name);
  step_ = step_of(mode);
  begin_ =
      static_cast<int>(XXH3_64bits(text.data(), text.size()) % static_cast<std::uint64_t>(step_));
  offset_ += share_ * begin_;
  share_ *= step_;
}

backend& battery_attempt::place() {
  if (place_ == nullptr) {
    place_ = open_backend(contender_.executor, on(executor_kind::cuda) ? 0 : 2);
  }
  return *place_;
}

workload battery_attempt::admitted(workload p) {
  p.layout = one_of(entry().layouts, p.layout);
  p.type = one_of(entry().dtypes, p.type);
  p.index = one_of(entry().index_types, p.index);
  p.payload = one_of(entry().payloads, p.payload);
  // A kernel may select the largest alone, which its `supports` says.
  workload turned = p;
  turned.direction = p.direction == direction::smallest ? direction::largest : direction::smallest;
  const device& where = place().description();
  return !check_support(entry(), p, where) && check_support(entry(), turned, where) ? turned : p;
}

workload battery_attempt::limited(workload p) const {
  const limits& most = entry().promises.limits;
  p.n = std::min(p.n, most.max_n);
  p.q = std::min(p.q, most.max_q);
  p.k = std::min({p.k, most.max_k, p.n});
  return p;
}

workload battery_attempt::shortened(workload p) {
  const workload whole = p;
  while (!check_support(entry(), p, place().description())) {
    if (p.n / 2 < p.k) return whole;
    p.n /= 2;
  }
  return p;
}

std::optional<workload> battery_attempt::fitted(workload p) {
  p = shortened(admitted(limited(p)));
  if (check_support(entry(), p, place().description())) return p;
  ++result.beyond_limits;
  return std::nullopt;
}

std::vector<workload> battery_attempt::admitted_and_narrow(const workload& p) {
  std::vector<workload> both = {admitted(p)};
  std::vector<dtype> narrow;
  for (const auto& type : names<dtype>) {
    const bool usual = type.value == dtype::float32 || type.value == dtype::float64;
    if (!usual && entry().dtypes.contains(type.value)) narrow.push_back(type.value);
  }
  if (!narrow.empty()) {
    both.push_back(both.front());
    both.back().type = narrow[static_cast<std::size_t>(narrow_turn_++) % narrow.size()];
  }
  return both;
}

std::vector<workload> battery_attempt::variants(const workload& p) {
  std::vector<workload> all;
  std::vector<dtype> by_turns;
  for (const auto& type : names<dtype>) {
    if (taken_as_word(type.value) && entry().dtypes.contains(type.value)) {
      by_turns.push_back(type.value);
    }
  }
  const int turn = word_turn_++;
  for (const auto& type : names<dtype>) {
    int combination = turn;
    for (const auto& answer : names<payload>) {
      if (!entry().payloads.contains(answer.value))
        continue;  // by plan_call() and not by the entry
      for (const auto& order : names<layout>) {
        for (const auto& index : names<index_type>) {
          for (const auto& wanted : names<direction>) {
            workload variant = p;
            variant.type = type.value;
            variant.payload = answer.value;
            variant.layout = order.value;
            variant.index = index.value;
            variant.direction = wanted.value;
            const bool index_matters = variant.has_indices();
            if (!index_matters && index.value != index_type::int32) continue;
            if (taken_as_word(type.value) && !has_turn(by_turns, type.value, combination++)) {
              continue;
            }
            variant = shortened(variant);
            if (check_support(entry(), variant, place().description())) all.push_back(variant);
          }
        }
      }
    }
  }
  return all;
}

void battery_attempt::prove(const workload& p) {
  std::vector<std::byte> rows(p.input_bytes());
  generate_rows(p, rows, place().description().threads);
  prove_on(p, rows);
}

void battery_attempt::prove_on(const workload& p, std::span<const std::byte> rows,
                               std::int64_t shift) {
  if (!check_support(entry(), p, place().description())) {
    ++result.beyond_limits;
    return;
  }
  const auto title = [&] {
    return to_string(p) +
           (shift == 0 ? ""
                       : fmt::format(", {} into the buffer", runtime::amount_of(shift, "element")));
  };
  // The buffer is aligned, so the input is misaligned by exactly the shift.
  const auto lead = static_cast<std::size_t>(shift) * size_of(p.type);
  const device_buffer shifted(place(), lead + rows.size());
  place().to_device(shifted.data() + lead, rows);
  prove_input(p, input_rows::at(place(), rows, shifted.data() + lead), title());
}

void battery_attempt::prove_ragged(const workload& p, std::span<const std::byte> rows,
                                   const row_places& arrays) {
  if (!check_support(entry(), p, place().description())) {
    ++result.beyond_limits;
    return;
  }
  input_rows input(place(), rows);
  input.give_numbers(arrays);
  prove_input(p, input, to_string(p));
}

void battery_attempt::prove_input(const workload& p, const input_rows& input,
                                  const std::string& title) {
  trial attempt(entry(), p, input, place());
  attempt.prepare();
  const status done = attempt.run();
  if (!done.ok()) throw refuted{title, done.message};
  if (std::string wrong = attempt.disprove(); !wrong.empty()) throw refuted{title, wrong};
  ++result.proven;
}

case_result run_case(const battery_case& one, const contender& c, const battery_mode& mode) {
  case_result none;
  none.skipped = why_not(c);
  if (!none.skipped.empty()) return none;
  battery_attempt attempt(one, c, mode);
  if (attempt.sampled_out()) {
    none.skipped = "not in the sample";
    return none;
  }
  case_result& result = attempt.result;
  try {
    one.run(attempt);
  } catch (const refuted& wrong) {
    result.problem = wrong.problem;
    result.reason = wrong.reason;
  } catch (const std::exception& failed) {
    result.reason = failed.what();
  }
  return result;
}

}  // namespace kselect::harness
