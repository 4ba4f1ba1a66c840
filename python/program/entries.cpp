// Entries whose function is the caller's, and proofs of a caller's answers. An entry's plan is a
// plain function that is not told whose it is, so there is a fixed number of places, each with
// functions of its own.

#include <algorithm>
#include <array>
#include <deque>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "harness/verify/certificate.hpp"
#include "python/program/outside.hpp"
#include "runtime/json.hpp"
#include "src/registry_table.hpp"

namespace kselect::outside {
namespace {

using namespace runtime;
using json = nlohmann::ordered_json;

// What an entry's views show, which lives as long as the program: rows of older registries show it.
struct words {
  std::string name, family, source, file, source_hash;
};

struct place_of_entry {
  std::array<algorithm, 1> entry{};
  enum_set<direction> directions;
  function call = nullptr;  // null: free
};

std::array<place_of_entry, most_entries>& places() {
  static std::array<place_of_entry, most_entries> all;
  return all;
}

struct number_of_place {
  int value;
};

status start(const number_of_place& number, const problem& p, const io& buffers,
             std::span<std::byte>, const executor& on) {
  const place_of_entry& at = places()[static_cast<std::size_t>(number.value)];
  std::string wrong = at.call(number.value, p, buffers, on);
  if (wrong.empty()) return {};
  return {status_code::failed, std::move(wrong)};
}

call_plan plan_of(int number, const problem& p) {
  if (!places()[static_cast<std::size_t>(number)].directions.contains(p.direction)) {
    return call_plan::refused(p.direction == direction::smallest ? "selects the largest alone"
                                                                 : "selects the smallest alone");
  }
  return call_plan::of<&start>(p, 0, number_of_place{number});
}

template <int number>
call_plan plan(const problem& p, const device&) {
  return plan_of(number, p);
}
template <int number>
std::span<const algorithm> entries() {
  return places()[number].entry;
}

struct functions {
  decltype(algorithm::plan) plan;
  std::span<const algorithm> (*entries)();
};

template <int... numbers>
constexpr std::array<functions, sizeof...(numbers)> functions_of(
    std::integer_sequence<int, numbers...>) {
  return {{{&plan<numbers>, &entries<numbers>}...}};
}
constexpr auto functions_of_places = functions_of(std::make_integer_sequence<int, most_entries>{});

template <class Enum>
Enum enumerator(const json& value) {
  const auto name = value.get<std::string>();
  if (const auto found = parse<Enum>(name)) return *found;
  throw error(failure::usage, fmt::format("'{}' is none of the words known here", name));
}

template <class Enum>
enum_set<Enum> set_of_names(const json& list) {
  enum_set<Enum> set;
  for (const json& name : list) set.bits |= set_of(enumerator<Enum>(name)).bits;
  if (set.bits == 0) throw error(failure::usage, "a list of what it takes is empty");
  return set;
}

limits limits_of(const json& given) {
  const auto bound = [&](const char* name) {
    return given.at(name).is_null() ? unlimited : whole<std::int64_t>(given.at(name));
  };
  return {bound("n"), bound("q"), bound("k"), whole<std::int64_t>(given.at("alignment_bytes"))};
}

contract contract_of(const json& facts) {
  const json& given = facts.at("contract");
  return {.ordering = enumerator<output_ordering>(given.at("ordering")),
          .tie_break = enumerator<tie_break>(given.at("tie_break")),
          .determinism = enumerator<determinism>(given.at("determinism")),
          .nan = enumerator<nan_policy>(given.at("nan")),
          .zeros = enumerator<zero_policy>(given.at("zeros")),
          .infinities = given.at("infinities").get<bool>(),
          .limits = limits_of(facts.at("limits")),
          .synchronises = given.at("synchronises").get<bool>(),
          .modifies_input = given.at("modifies_input").get<bool>()};
}

// The place of an entry of that name, else a free one.
int place_for(const std::string& name) {
  const auto named = [&](const place_of_entry& p) { return p.call && p.entry[0].name == name; };
  auto at = std::ranges::find_if(places(), named);
  if (at == places().end()) {
    if (find_algorithm(name) != nullptr) {
      throw error(failure::usage,
                  fmt::format("{} is an entry of kselect; take another name", name));
    }
    at = std::ranges::find(places(), nullptr, &place_of_entry::call);
  }
  if (at == places().end()) {
    throw error(failure::resources,
                fmt::format("{} entries are there already; use their names again", most_entries));
  }
  return static_cast<int>(at - places().begin());
}

int put(const json& facts, function call) {
  static std::deque<words> kept;
  const auto text = [&](const char* name) { return facts.at(name).get<std::string>(); };
  const int number = place_for(text("name"));
  const auto& own = functions_of_places[static_cast<std::size_t>(number)];
  const contract promises = contract_of(facts);
  const auto executors = set_of_names<executor_kind>(facts.at("executors"));
  const auto dtypes = set_of_names<dtype>(facts.at("dtypes"));
  const auto index_types = set_of_names<index_type>(facts.at("index_types"));
  const auto payloads = set_of_names<payload>(facts.at("payloads"));
  const auto directions = set_of_names<direction>(facts.at("directions"));
  const bool threaded = facts.at("threaded").get<bool>();
  const words& said = kept.emplace_back(
      words{text("name"), text("family"), text("source"), text("file"), text("source_hash")});
  place_of_entry& at = places()[static_cast<std::size_t>(number)];
  at.entry[0] = {.name = said.name,
                 .family = said.family,
                 .source = said.source,
                 .promises = promises,
                 .executors = executors,
                 .dtypes = dtypes,
                 .index_types = index_types,
                 .payloads = payloads,
                 .threaded = threaded,
                 .plan = own.plan};
  at.directions = directions;
  at.call = call;
  kselect::detail::put_entry_file({own.entries, said.file, said.source_hash, true});
  return number;
}

problem problem_of(const json& facts) {
  problem p;
  p.n = whole<std::int64_t>(facts.at("n"));
  p.q = whole<std::int64_t>(facts.at("q"));
  p.k = whole<std::int64_t>(facts.at("k"));
  p.type = enumerator<dtype>(facts.at("dtype"));
  p.index = enumerator<index_type>(facts.at("index"));
  p.direction = enumerator<direction>(facts.at("direction"));
  p.payload = enumerator<payload>(facts.at("payload"));
  return p;
}

std::string refuted(const json& facts, const answer& given) {
  const problem p = problem_of(facts);
  if (given.rows.size() != p.input_bytes() || given.values.size() != p.values_bytes() ||
      given.indices.size() != p.indices_bytes()) {
    throw error(failure::usage, "a buffer has another size than the problem says");
  }
  io buffers{.input = given.rows.data()};  // the certificate reads alone
  buffers.values = const_cast<char*>(given.values.data());
  if (p.has_indices()) buffers.indices = const_cast<char*>(given.indices.data());
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const harness::verdict proof = harness::verify(p, contract_of(facts), buffers, threads);
  if (proof) return {};
  return fmt::format("{} of {} rows wrong; {}", proof.rows_wrong, proof.rows_checked,
                     proof.first->detail);
}

}  // namespace

outcome refute(const std::string& facts, const answer& given) {
  try {
    return {0, refuted(parse_json(facts, "answer"), given)};
  } catch (const error& wrong) {
    return {wrong.exit_code(), wrong.what()};
  } catch (const std::exception& wrong) {
    return {static_cast<int>(failure::usage), "answer: " + reason_of(wrong)};
  }
}

outcome put_entry(const std::string& facts, function call) {
  try {
    return {0, std::to_string(put(parse_json(facts, "entry"), call))};
  } catch (const error& wrong) {
    return {wrong.exit_code(), wrong.what()};
  } catch (const std::exception& wrong) {
    return {static_cast<int>(failure::usage), "entry: " + reason_of(wrong)};
  }
}

}  // namespace kselect::outside
