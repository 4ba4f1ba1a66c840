#include "harness/plan/plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "harness/config/combinations.hpp"
#include "harness/plan/parts.hpp"
#include "harness/plan/selection.hpp"
#include "harness/plan/title_filter.hpp"
#include "runtime/backend/host_memory.hpp"
#include "runtime/environment/host.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/json.hpp"

namespace kselect::harness {
namespace {

// The executors of one algorithm: the requested ones, or the GPU if it can run there, else the CPU.
std::vector<executor_kind> executors_of(const algorithm& entry, const plan_request& request) {
  if (request.executor) return {*request.executor};
  if (!request.config.executors.empty()) return request.config.executors;
  for (const executor_kind kind : {executor_kind::cuda, executor_kind::cpu}) {
    if (entry.executors.contains(kind) && why_unavailable(kind).empty()) return {kind};
  }
  // None is available: the cell is recorded as unsupported with the reason, not left out.
  return {entry.executors.contains(executor_kind::cuda) ? executor_kind::cuda : executor_kind::cpu};
}

// The layout that an algorithm gets for rows written in another.
layout layout_read(const algorithm& entry, layout written) {
  if (entry.layouts.contains(written)) return written;
  layout read = written;
  for (const auto& candidate : names<layout>) {
    if (entry.layouts.contains(candidate.value)) read = candidate.value;
  }
  return read;
}

// Sets `foreseen` and `reason`. The host has `free_bytes` for a cell.
void foresee(cell& c, const sweep_input& input, backends& places, std::size_t free_bytes) {
  device where;
  where.kind = c.executor;
  std::string unavailable;
  if (c.entry->algorithm->executors.contains(c.executor)) {
    unavailable = why_unavailable(c.executor);
  }
  if (unavailable.empty() && why_unavailable(c.executor).empty()) {
    where = places.open(c.executor).description();
  }
  const cell_prospect seen = unavailable.empty()
                                 ? task_of(c.task).foresee(c, input, where, free_bytes)
                                 : cell_prospect{cell_status::unsupported, unavailable};
  c.foreseen = seen.status;
  c.reason = seen.reason;
}

// `input` is the text of the input's description.
std::string make_key(const cell& c, const plan_request& request, const std::string& input,
                     const std::string& device_name) {
  const measure_policy& m = request.config.measure;
  const std::string identity = fmt::format(
      "{}|{}|{}|{}|{}|{}|{}|{},{},{},{},{},{},{},{}", problem_of(c), input, name_of(c),
      c.entry->source_hash, to_string(c.executor), device_name,
      version_line().substr(0, version_line().find('(')), m.warmup, m.rounds, m.min_samples,
      m.max_samples, m.max_seconds, m.target_spread, m.threads, to_string(m.cache));
  // Only if set, so that all other cells keep their keys.
  const std::string confined =
      m.multiprocessors == 0 ? "" : fmt::format("|{} multiprocessors", m.multiprocessors);
  std::string of_task =
      c.task == nullptr ? "" : fmt::format("|{} {}", c.task->name(), c.task->source_hash(c));
  for (const setting& s : c.of_entry) of_task += '|' + to_string(s);
  const std::string whole = identity + confined + of_task;
  return fmt::format("{:016x}", XXH3_64bits(whole.data(), whole.size()));
}

// The device's name; of a confined backend with the multiprocessors that were got.
std::string name_of(const backend& place) {
  const auto confined = place.confined();
  return place.description().name +
         (confined ? fmt::format(" ({} of {})", confined->multiprocessors, confined->of) : "");
}

// Cells on a CPU would look as if they had been confined.
void require_gpu(const algorithm& entry, executor_kind executor, const sweep_config& config) {
  if (config.measure.multiprocessors == 0 || executor == executor_kind::cuda) return;
  throw error(
      failure::usage,
      fmt::format("{}: /measure/multiprocessors: {} would run on executor {}, which has no "
                  "multiprocessors; take cuda alone (\"executor\": \"cuda\" or --executor cuda), "
                  "or leave the setting away",
                  config.file_name, entry.name, to_string(executor)));
}

// An algorithm that the config wants, and where.
struct wanted_entry {
  const registered* entry;
  const algorithm_filter* filter;
  std::vector<executor_kind> executors;
  std::vector<layout> reads;  // for each layout by number, the one that the algorithm gets
  std::vector<settings> own;  // the settings that it is measured with; of selection, the empty one

  bool takes(const workload& p) const {
    return !filter->where || filter->where->holds(p.n, p.q, p.k);
  }
  layout read_for(layout written) const { return reads[static_cast<std::size_t>(written)]; }
};

// Why an algorithm cannot run on an executor here, as the end of a sentence about several; empty if
// it can.
std::string obstacle(const algorithm& entry, executor_kind kind) {
  if (!entry.executors.contains(kind)) {
    return fmt::format("are not written for executor {}", to_string(kind));
  }
  const std::string why = why_unavailable(kind);
  if (!why.empty() && kind == executor_kind::cuda) return "need a GPU: " + why;
  if (!why.empty()) return fmt::format("need executor {}: {}", to_string(kind), why);
  return entry.missing.empty() ? std::string() : fmt::format("lack a library: {}", entry.missing);
}

// Keeps the executors that the algorithm can run on here. If none is left, notes why.
void keep_possible(wanted_entry& wanted, std::vector<left_out>& omitted) {
  const algorithm& entry = *wanted.entry->algorithm;
  const std::string why = obstacle(entry, wanted.executors.front());
  std::erase_if(wanted.executors,
                [&](executor_kind kind) { return !obstacle(entry, kind).empty(); });
  if (!wanted.executors.empty()) return;
  auto same = std::ranges::find(omitted, why, &left_out::reason);
  if (same == omitted.end()) same = omitted.insert(omitted.end(), {why, {}});
  same->algorithms.push_back(entry.name);
}

// All combinations of the task's own axes of that scope that matter to an entry.
std::vector<settings> own_settings(const sweep_config& config, axis_scope scope,
                                   std::string_view entry = {}) {
  std::vector<settings> all = {{}};
  if (config.task == nullptr) return all;
  for (const task_axis& axis : config.task->axes()) {
    if (axis.scope != scope || !matters(axis, entry)) continue;
    const auto given = std::ranges::find(config.axes.own, axis.name, &axis_values::axis);
    std::vector<settings> longer;
    for (const settings& each : all) {
      for (const setting_value& value : given->values) {
        longer.push_back(each);
        longer.back().push_back({axis.name, value});
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::vector<wanted_entry> entries_of(const plan_request& request, std::vector<left_out>& omitted) {
  const task& of = task_of(request.config.task);
  std::vector<std::string_view> known;
  for (const registered& row : of.entries()) known.push_back(row.algorithm->name);
  check_algorithms(request.config, known, left_out_hint());
  std::vector<wanted_entry> entries;
  for (const registered& row : of.entries()) {
    const algorithm_filter* const filter = filter_for(request.config, row.algorithm->name);
    if (filter == nullptr) continue;
    wanted_entry wanted{&row,
                        filter,
                        executors_of(*row.algorithm, request),
                        {},
                        own_settings(request.config, axis_scope::entry, row.algorithm->name)};
    if (filter->only_here()) keep_possible(wanted, omitted);
    if (wanted.executors.empty()) continue;
    for (const auto& each : names<layout>) {
      wanted.reads.push_back(layout_read(*row.algorithm, each.value));
    }
    entries.push_back(std::move(wanted));
  }
  return entries;
}

// Whether a filter matches one of the two titles of a cell, as title_filter does for selections.
bool matches(const title_filter& filter, const cell& c) {
  const std::string name = name_of(c) + ' ';
  return filter.matches(name + problem_of(c)) || filter.matches(name + short_title_of(c));
}

class config_plan final : public cell_source {
 public:
  config_plan(const plan_request& request, backends& places)
      : request_(request),
        places_(places),
        input_(to_text(request.input.description())),
        free_bytes_(available_memory()),
        problems_(request.config, request.input.sizes()),
        of_problems_(own_settings(request.config, axis_scope::problem)),
        entries_(entries_of(request, omitted_)) {
    require_some(request.config, count_left(problems_));
    if (request.filter) filter_.emplace(*request.filter);
    counts_ = filter_ ? counted_by_title() : counted();
    for (const algorithm_count& each : counts_) size_ += each.cells;
  }

  std::int64_t size() const override { return size_; }
  std::vector<algorithm_count> counts() const override { return counts_; }
  std::vector<left_out> omitted() const override { return omitted_; }
  std::unique_ptr<cursor> begin() const override { return std::make_unique<walk>(*this); }

  std::string identity() const override {
    auto config = resolved_json(request_.config);
    for (const char* const other : {"name", "description", "measure", "input", "executor"}) {
      config.erase(other);
    }
    std::string text = to_text(config) + request_.filter.value_or("");
    for (const algorithm_count& each : counts_) {
      text += fmt::format("\n{} {} {}", each.algorithm, to_string(each.executor), each.cells);
    }
    return text;
  }

  void complete(cell& c) const override {
    foresee(c, request_.input, places_, free_bytes_);
    const bool here = why_unavailable(c.executor).empty();
    c.key = make_key(c, request_, input_, here ? name_of(places_.open(c.executor)) : "");
  }

 private:
  // Entries in turn for each problem, executors in turn for each entry.
  class walk final : public cursor {
   public:
    explicit walk(const config_plan& plan) : plan_(plan), problems_(plan.problems_) {}

    bool next(cell& c) override {
      while (!plan_.entries_.empty() && next_place()) {
        const wanted_entry& wanted = plan_.entries_[entry_];
        c = cell();
        c.task = plan_.request_.config.task;
        c.of_problem = plan_.of_problems_[of_problem_];
        c.of_entry = wanted.own[of_entry_];
        c.problem = *problem_;
        c.entry = wanted.entry;
        c.executor = wanted.executors[place_];
        c.problem.layout = wanted.read_for(problem_->layout);
        if (plan_.filter_ && !matches(*plan_.filter_, c)) continue;
        require_gpu(*c.entry->algorithm, c.executor, plan_.request_.config);
        c.number = number_++;
        return true;
      }
      return false;
    }

   private:
    bool next_place() {
      if (problem_ != nullptr) {
        if (++of_entry_ < plan_.entries_[entry_].own.size()) return true;
        of_entry_ = 0;
        if (++place_ < plan_.entries_[entry_].executors.size()) return true;
        place_ = 0;
      }
      do {
        if (problem_ == nullptr || ++entry_ == plan_.entries_.size()) {
          entry_ = 0;
          if (!next_problem()) return false;
        }
      } while (!plan_.entries_[entry_].takes(*problem_) || is_repeated());
      return true;
    }

    bool next_problem() {
      if (problem_ != nullptr && ++of_problem_ < plan_.of_problems_.size()) return true;
      of_problem_ = 0;
      problem_ = problems_.next();
      return problem_ != nullptr;
    }

    // Whether the entry gets the same rows for an earlier layout of this problem.
    bool is_repeated() const {
      const wanted_entry& wanted = plan_.entries_[entry_];
      workload earlier = *problem_;
      for (const layout written : plan_.request_.config.axes.layouts) {
        if (written == problem_->layout) return false;
        earlier.layout = written;
        if (wanted.read_for(written) == wanted.read_for(problem_->layout) &&
            !plan_.problems_.is_excluded(earlier)) {
          return true;
        }
      }
      return false;
    }

    const config_plan& plan_;
    combinations::walk problems_;
    const workload* problem_ = nullptr;
    std::size_t of_problem_ = 0, entry_ = 0, place_ = 0, of_entry_ = 0;
    std::int64_t number_ = 0;
  };

  std::vector<algorithm_count> counted() const {
    // Many entries have the same condition and read the same layouts.
    std::map<std::pair<std::string, std::vector<layout>>, std::int64_t> known;
    std::vector<algorithm_count> counts;
    for (const wanted_entry& wanted : entries_) {
      const auto& where = wanted.filter->where;
      const auto [at, is_new] =
          known.try_emplace({where ? where->text() : std::string(), wanted.reads}, 0);
      if (is_new) at->second = count_left(problems_, {where ? &*where : nullptr, wanted.reads});
      for (const executor_kind executor : wanted.executors) {
        if (at->second == 0) continue;
        require_gpu(*wanted.entry->algorithm, executor, request_.config);
        counts.push_back({wanted.entry->algorithm->name, executor,
                          at->second * std::ssize(of_problems_) * std::ssize(wanted.own)});
      }
    }
    return counts;
  }

  std::vector<algorithm_count> counted_by_title() const {
    std::map<std::pair<const registered*, executor_kind>, std::int64_t> found;
    walk cells(*this);
    for (cell c; cells.next(c);) ++found[{c.entry, c.executor}];
    std::vector<algorithm_count> counts;
    for (const auto& [what, cells_of_it] : found) {
      counts.push_back({what.first->algorithm->name, what.second, cells_of_it});
    }
    return counts;
  }

  plan_request request_;
  backends& places_;
  std::string input_;
  std::size_t free_bytes_;  // of the host, before the first cell runs
  combinations problems_;
  std::vector<settings> of_problems_;
  std::vector<left_out> omitted_;
  std::vector<wanted_entry> entries_;
  std::optional<title_filter> filter_;
  std::vector<algorithm_count> counts_;
  std::int64_t size_ = 0;
};

}  // namespace

const task& task_of(const task* added) { return added == nullptr ? selection_task() : *added; }

std::unique_ptr<sweep_input> open_sweep_input(const input_choice& choice) {
  if (!choice.parts.empty()) return std::make_unique<parts_input>(choice.parts);
  return task_of(choice.task).open(choice);
}

backend& backends::open(executor_kind kind) {
  auto& place = open_[static_cast<std::size_t>(kind)];
  const int confined_to = kind == executor_kind::cuda ? multiprocessors_ : 0;
  if (!place) place = open_backend(kind, threads_, 0, confined_to);
  return *place;
}

std::optional<confinement> backends::confined() {
  if (multiprocessors_ == 0 || !why_unavailable(executor_kind::cuda).empty()) return std::nullopt;
  return open(executor_kind::cuda).confined();
}

std::unique_ptr<cell_source> plan_of_part(const plan_request& request, backends& places) {
  return std::make_unique<config_plan>(request, places);
}

}  // namespace kselect::harness
