// `auto`: the algorithm that is expected to be fastest for a problem on a device. An entry like any
// other, so it is tested, measured and plotted beside its members.
//
// On a GPU it is the member with the least time predicted by a cost table (cost_table.hpp), which
// `kselect tune` learned from measurements on that card. Rules decide without a table: on the CPU
// and on fibers, for layouts and payloads that only some algorithms take, on any card if no table
// was compiled in, and where a rule says that it stands before the tables. The rules follow from
// what limits each member: how much of the card the rows fill, whether a row stays in registers,
// and whether a threshold's survivors fit on chip. They hold for any card.
//
// Entries: auto

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/auto_select/admitted.hpp"
#include "algorithms/auto_select/choose.hpp"
#include "algorithms/auto_select/members.hpp"
#include "algorithms/ordered_select/of_auto.hpp"

namespace kselect::entries {
// The members' files. They are not looked up in the registry, so that a program that links the
// library gets these alone. gpu_members.cpp names those for a GPU.
std::span<const algorithm> one_pass_select();
std::span<const algorithm> nth_element();
}  // namespace kselect::entries

namespace kselect {
namespace {

bool always(const problem&, const device&) { return true; }

bool by_columns(const problem& p, const device&) { return p.layout == layout::column_major; }
bool kth_alone(const problem& p, const device&) { return p.payload == payload::kth_value; }

bool worth_threads(const problem& p, const device& where) {
  return where.threads > 1 && p.n * p.q >= std::int64_t{1} << 15;
}

// As gpu_rules() of members.hpp.
constexpr std::array cpu_rules = {
    rule{&entries::one_pass_select, "one-pass+omp", &worth_threads,
         "each row read once by vectors, enough work for several threads"},
    rule{&entries::one_pass_select, "one-pass", &always, "each row read once by vectors"},
    rule{&entries::nth_element, "cpu/nth_element+omp", &worth_threads,
         "enough work for several threads"},
    rule{&entries::nth_element, "cpu/nth_element", &always, "too little work for several threads"},
};

constexpr std::array<entries_of_file, 2> cpu_files = {&entries::one_pass_select,
                                                      &entries::nth_element};

// Members must keep what `auto` promises.
bool keeps_promises(const contract& c) {
  return !c.synchronises && !c.modifies_input && c.nan == nan_policy::total_order &&
         c.zeros == zero_policy::distinct;
}

const algorithm* member_of(const rule& r) {
  for (const algorithm& entry : r.file()) {
    if (entry.name == r.member) return &entry;
  }
  return nullptr;
}

choice by_rules(const problem& p, const device& where) {
  const std::span<const rule> rules =
      where.kind == executor_kind::cpu ? std::span<const rule>(cpu_rules) : gpu_rules();
  for (const rule& r : rules) {
    if (!r.applies(p, where)) continue;
    const algorithm* const member = member_of(r);
    if (member == nullptr) continue;
    if (const call_plan plan = plan_call(*member, p, where)) {
      return {.member = member, .reason = r.reason, .plan = plan};
    }
  }
  return {};
}

// Whether a rule holds whatever tables predict, and its member takes the problem.
bool rule_before_tables(const problem& p, const device& where) {
  return std::ranges::any_of(gpu_rules(), [&](const rule& r) {
    if (!r.before_tables || !r.applies(p, where)) return false;
    const algorithm* const member = member_of(r);
    return member != nullptr && check_support(*member, p, where);
  });
}

// The table that predicts for this problem; null if rules decide.
const cost_table* table_of(const problem& p, const device& where) {
  // Tables are learned from equal rows.
  if (by_columns(p, where) || kth_alone(p, where) || p.ragged()) return nullptr;
  const cost_table* const table = table_for(where);
  return table == nullptr || rule_before_tables(p, where) ? nullptr : table;
}

// The members of a table, in its order; null: there is no entry of that name.
using table_members = std::array<const algorithm*, max_table_members>;

table_members looked_up(const cost_table& table) {
  table_members members{};
  std::ranges::transform(table.members, members.begin(), &find_member);
  return members;
}

// Looked up once for each table that is compiled in.
table_members members_of(const cost_table& table) {
  static const std::vector<table_members> known = [] {
    std::vector<table_members> all;
    std::ranges::transform(cost_tables(), std::back_inserter(all), &looked_up);
    return all;
  }();
  const auto tables = cost_tables();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (&tables[i] == &table) return known[i];
  }
  return looked_up(table);
}

struct planned_member {
  ranked_member ranked{};  // its member is null if there is no other
  call_plan plan;
};

// Returns the members of a table that support a problem one by one, the fastest predicted first.
class ranking {
 public:
  ranking(const cost_table& table, const problem& p, const device& where)
      : members_(members_of(table)), count_(table.members.size()), problem_(p), where_(where) {
    predict_times(table, p, where.multiprocessors, times_);
  }

  planned_member next() {
    for (;;) {
      const auto end = times_.begin() + count_;
      const auto fastest = std::min_element(times_.begin(), end);
      if (fastest == end || *fastest == taken) return {};
      const double time = std::exchange(*fastest, taken);
      const auto place = static_cast<std::size_t>(fastest - times_.begin());
      const algorithm* const member = members_[place];
      if (member == nullptr) continue;
      if (const call_plan plan = plan_call(*member, problem_, where_)) {
        return {{member, time}, plan};
      }
    }
  }

 private:
  static constexpr double taken = std::numeric_limits<double>::infinity();
  table_members members_;
  std::size_t count_;
  const problem& problem_;
  const device& where_;
  std::array<double, max_table_members> times_;
};

// The decisions of a call on the host whose NaNs have another place, or whose elements are named by
// a map.
struct named_call {
  member_plan member;
  int threads;
};

status start_named(const named_call& c, const problem& p, const io& buffers,
                   std::span<std::byte> memory, const executor& on) {
  if (status done = c.member.enqueue(buffers, memory, on); !done.ok()) return done;
  if (p.nan != nan_order::total_order) ordered::place_nans(p, buffers, c.threads);
  if (p.map == row_numbers::none) return {};
#pragma omp parallel for num_threads(c.threads) schedule(static) if (c.threads > 1)
  for (std::int64_t r = 0; r < p.q; ++r) {
    map_row(p, buffers, r, selected_of(p, buffers, r, extent_of(p, buffers, r).length));
  }
  return {};
}

// A choice whose answers' NaNs are then put where they belong, and whose elements are named.
choice choose_named(const problem& p, const device& where) {
  const bool on_host = where.kind == executor_kind::cpu;
  const problem plain = in_total_order(without_map(p));
  choice found = choose_algorithm(on_host ? plain : with_values(plain), where);
  if (found.member == nullptr) return found;
  if (!on_host) {
    found.plan = ordered::plan_named(found.plan, p, where);
  } else if (const member_plan member(found.plan); member) {
    const int threads = ordered::sorting_threads(p, where);
    found.plan = call_plan::of<&start_named>(p, member.workspace(), named_call{member, threads});
  } else {
    found.plan = call_plan::refused(member.reason());
  }
  found.plan.made_by(*found.member);
  return found;
}

call_plan plan_for(const problem& p, const device& where) {
  return choose_algorithm(p, where).plan;
}

constexpr algorithm entry() {
  algorithm a;
  a.name = "auto";
  a.family = "auto";
  a.source = "kselect";
  a.executors = set_of(executor_kind::cpu, executor_kind::fiber, executor_kind::cuda);
  a.dtypes = every_dtype;
  a.payloads =
      set_of(payload::values, payload::values_and_indices, payload::kth_value, payload::indices);
  a.layouts = set_of(layout::row_major, layout::column_major);
  a.threaded = true;
  a.ragged = a.executors;
  a.maps = true;
  a.masks = true;
  a.nans = ordered::every_nan_order;
  a.plan = &plan_for;
  return a;
}

constexpr std::array all = {
    entry(),
    ordered::of_auto<ordered::answer_order::sorted>::entry("auto+sorted", entry()),
    ordered::of_auto<ordered::answer_order::stable>::entry("auto+stable", entry()),
};

}  // namespace

choice choose_algorithm(const problem& p, const device& where) {
  if (p.mask != mask_bits::none) {
    return admitted::choose(p, where, [](const problem& rows, const device& own) {
      return choose_algorithm(rows, own);
    });
  }
  if (p.map != row_numbers::none || p.nan != nan_order::total_order) return choose_named(p, where);
  if (const cost_table* const table = table_of(p, where)) {
    const auto [best, plan] = ranking(*table, p, where).next();
    if (best.member != nullptr) {
      return {best.member, "its predicted time is the least", best.predicted_ns, table, plan};
    }
  }
  return by_rules(p, where);
}

std::vector<ranked_member> rank_members(const problem& wanted, const device& where) {
  const problem p = in_total_order(wanted);
  std::vector<ranked_member> ranked;
  const cost_table* const table = table_of(p, where);
  if (table == nullptr) return ranked;
  ranking members(*table, p, where);
  for (auto next = members.next(); next.ranked.member != nullptr; next = members.next()) {
    ranked.push_back(next.ranked);
  }
  return ranked;
}

const cost_table* table_for(const device& where) {
  if (where.kind != executor_kind::cuda || where.multiprocessors < 1) return nullptr;
  const cost_table* nearest = find_cost_table(where.name);
  if (nearest != nullptr) return nearest;
  double least = std::numeric_limits<double>::infinity();
  for (const cost_table& table : cost_tables()) {
    const double ratio = static_cast<double>(table.multiprocessors) / where.multiprocessors;
    const double apart = std::max(ratio, 1 / ratio);
    if (apart >= least) continue;
    least = apart;
    nearest = &table;
  }
  return nearest;
}

const algorithm* find_member(std::string_view name) {
  for (const auto& files : {gpu_files(), std::span<const entries_of_file>(cpu_files)}) {
    for (const entries_of_file file : files) {
      for (const algorithm& entry : file()) {
        if (entry.name == name) return keeps_promises(entry.promises) ? &entry : nullptr;
      }
    }
  }
  return nullptr;
}

choice choose_algorithm(const problem& p, const device& where, const requirements& wanted) {
  if (keeps(all[0].promises, wanted)) return choose_algorithm(p, where);
  const bool sorted = keeps(all[1].promises, wanted);
  return ordered::choose_ordered(
      p, where, sorted ? ordered::answer_order::sorted : ordered::answer_order::stable);
}

}  // namespace kselect

namespace kselect::entries {

std::span<const algorithm> auto_select() { return all; }

}  // namespace kselect::entries
