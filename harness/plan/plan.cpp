#include "harness/plan/plan.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "harness/config/combinations.hpp"
#include "harness/plan/title_filter.hpp"
#include "runtime/backend/host_memory.hpp"
#include "runtime/environment/host.hpp"
#include "runtime/error.hpp"
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

// The most bytes that a cell needs at once: rows, what they are made of, outputs with their host
// copies, workspace.
std::size_t bytes_needed(const cell& c, const input_source& input, const call_plan& plan) {
  const algorithm& entry = *c.entry->algorithm;
  const problem& p = c.problem;
  const std::size_t outputs = 2 * (p.values_bytes() + p.indices_bytes());
  return p.input_bytes() * (entry.promises.modifies_input ? 2 : 1) + outputs + plan.workspace() +
         input.bytes_to_fill(c.problem);
}

// Why a contract excludes these rows; empty if it does not.
std::string excluded(const contract& promises, const row_contents& rows) {
  if (rows.nan && promises.nan == nan_policy::unsupported) {
    return "the rows hold NaN, which the contract excludes";
  }
  if (rows.infinities && !promises.infinities) {
    return "the rows hold infinities, which the contract excludes";
  }
  return {};
}

// Sets `foreseen` and `reason`. The host has `free_bytes` for a cell.
void foresee(cell& c, const input_source& input, backends& places, std::size_t free_bytes) {
  if (c.entry->algorithm->executors.contains(c.executor)) {
    c.reason = why_unavailable(c.executor);
  }
  if (c.reason.empty()) {
    device where;
    where.kind = c.executor;
    if (why_unavailable(c.executor).empty()) where = places.open(c.executor).description();
    const call_plan plan = plan_call(*c.entry->algorithm, c.problem, where);
    c.reason = plan.reason();
    if (c.reason.empty()) c.reason = excluded(c.entry->algorithm->promises, input.contents());
    if (c.reason.empty()) {
      const std::size_t needed = bytes_needed(c, input, plan);
      const std::size_t there = c.executor == executor_kind::cuda ? where.memory_bytes : free_bytes;
      if (there == 0 || needed <= there) return;
      c.foreseen = cell_status::out_of_memory;
      c.reason = fmt::format("needs {:.2f} GiB, {:.2f} GiB are there",
                             static_cast<double>(needed) / (1 << 30),
                             static_cast<double>(there) / (1 << 30));
      return;
    }
  }
  c.foreseen = cell_status::unsupported;
}

// `input` is the text of the input's description.
std::string make_key(const cell& c, const plan_request& request, const std::string& input,
                     const std::string& device_name) {
  const measure_policy& m = request.config.measure;
  const std::string identity = fmt::format(
      "{}|{}|{}|{}|{}|{}|{}|{},{},{},{},{},{},{},{}", to_string(c.problem), input,
      c.entry->algorithm->name, c.entry->source_hash, to_string(c.executor), device_name,
      version_line().substr(0, version_line().find('(')), m.warmup, m.rounds, m.min_samples,
      m.max_samples, m.max_seconds, m.target_spread, m.threads, to_string(m.cache));
  // Only if set, so that all other cells keep their keys.
  const std::string confined =
      m.multiprocessors == 0 ? "" : fmt::format("|{} multiprocessors", m.multiprocessors);
  const std::string whole = identity + confined;
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

std::vector<wanted_entry> entries_of(const plan_request& request, std::vector<left_out>& omitted) {
  std::vector<std::string_view> known;
  for (const registered& row : registry()) known.push_back(row.algorithm->name);
  check_algorithms(request.config, known, left_out_hint());
  std::vector<wanted_entry> entries;
  for (const registered& row : registry()) {
    const algorithm_filter* const filter = filter_for(request.config, row.algorithm->name);
    if (filter == nullptr) continue;
    wanted_entry wanted{&row, filter, executors_of(*row.algorithm, request), {}};
    if (filter->only_here()) keep_possible(wanted, omitted);
    if (wanted.executors.empty()) continue;
    for (const auto& each : names<layout>) {
      wanted.reads.push_back(layout_read(*row.algorithm, each.value));
    }
    entries.push_back(std::move(wanted));
  }
  return entries;
}

class config_plan final : public cell_source {
 public:
  config_plan(const plan_request& request, backends& places)
      : request_(request),
        places_(places),
        input_(to_text(request.input.description())),
        free_bytes_(available_memory()),
        problems_(request.config, request.input.sizes()),
        entries_(entries_of(request, omitted_)) {
    require_some(request.config, count_left(problems_));
    if (request.filter) filter_.emplace(*request.filter);
    counts_ = filter_ ? counted_by_title() : counted();
    for (const algorithm_count& each : counts_) size_ += each.cells;
    if (size_ != 0) return;
    throw error(failure::usage, fmt::format("{}: no cell is left{}{}", request.config.file_name,
                                            filter_ ? "; --filter excludes all" : "",
                                            omitted_text(omitted_, "; ")));
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
      while (next_place()) {
        const wanted_entry& wanted = plan_.entries_[entry_];
        c = cell();
        c.problem = *problem_;
        c.entry = wanted.entry;
        c.executor = wanted.executors[place_];
        c.problem.layout = wanted.read_for(problem_->layout);
        if (plan_.filter_ && !plan_.filter_->matches(c.entry->algorithm->name, c.problem)) continue;
        require_gpu(*c.entry->algorithm, c.executor, plan_.request_.config);
        c.number = number_++;
        return true;
      }
      return false;
    }

   private:
    bool next_place() {
      if (problem_ != nullptr && ++place_ < plan_.entries_[entry_].executors.size()) return true;
      place_ = 0;
      do {
        if (problem_ == nullptr || ++entry_ == plan_.entries_.size()) {
          entry_ = 0;
          problem_ = problems_.next();
          if (problem_ == nullptr) return false;
        }
      } while (!plan_.entries_[entry_].takes(*problem_) || is_repeated());
      return true;
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
    std::size_t entry_ = 0, place_ = 0;
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
        counts.push_back({wanted.entry->algorithm->name, executor, at->second});
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
  std::vector<left_out> omitted_;
  std::vector<wanted_entry> entries_;
  std::optional<title_filter> filter_;
  std::vector<algorithm_count> counts_;
  std::int64_t size_ = 0;
};

}  // namespace

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

std::unique_ptr<cell_source> make_plan(const plan_request& request, backends& places) {
  return std::make_unique<config_plan>(request, places);
}

std::vector<cell> plan_cells(const plan_request& request, backends& places) {
  const auto plan = make_plan(request, places);
  if (plan->size() > most_listed) {
    throw error(failure::usage,
                fmt::format("{}: {} cells are more than {}, which can be listed: name fewer "
                            "algorithms or executors, or shorten the axes",
                            request.config.file_name, plan->size(), most_listed));
  }
  std::vector<cell> cells;
  const auto cursor = plan->begin();
  for (cell c; cursor->next(c);) {
    plan->complete(c);
    cells.push_back(c);
  }
  return cells;
}

std::string omitted_text(const std::vector<left_out>& omitted, std::string_view before) {
  if (omitted.empty()) return {};
  std::vector<std::string> parts;
  for (const left_out& each : omitted) {
    const std::size_t count = each.algorithms.size();
    parts.push_back(fmt::format("{} algorithm{} {}", count, count == 1 ? "" : "s", each.reason));
  }
  return fmt::format("{}left out: {}", before, fmt::join(parts, "; "));
}

}  // namespace kselect::harness
