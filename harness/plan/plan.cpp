#include "harness/plan/plan.hpp"

#include <algorithm>
#include <span>
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "harness/config/cells.hpp"
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

workload in_layout_of(const algorithm& entry, workload p) {
  if (entry.layouts.contains(p.layout)) return p;
  for (const auto& candidate : names<layout>) {
    if (entry.layouts.contains(candidate.value)) p.layout = candidate.value;
  }
  return p;
}

// The most bytes that a cell needs at once: rows, what they are made of, outputs with their host
// copies, workspace.
std::size_t bytes_needed(const cell& c, const input_source& input, const device& where) {
  const algorithm& entry = *c.entry->algorithm;
  const problem& p = c.problem;
  const std::size_t workspace = entry.workspace == nullptr ? 0 : entry.workspace(p, where);
  const std::size_t outputs = 2 * (p.values_bytes() + p.indices_bytes());
  return p.input_bytes() * (entry.promises.modifies_input ? 2 : 1) + outputs + workspace +
         input.bytes_to_fill(c.problem);
}

// Sets `foreseen` and `reason`.
void foresee(cell& c, const input_source& input, backends& places) {
  if (c.entry->algorithm->executors.contains(c.executor)) {
    c.reason = why_unavailable(c.executor);
  }
  if (c.reason.empty()) {
    device where;
    where.kind = c.executor;
    if (why_unavailable(c.executor).empty()) where = places.open(c.executor).description();
    c.reason = check_support(*c.entry->algorithm, c.problem, where).reason;
    if (c.reason.empty()) {
      const std::size_t needed = bytes_needed(c, input, where);
      const std::size_t there =
          c.executor == executor_kind::cuda ? where.memory_bytes : available_memory();
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
      "{}|{}|{}|{}|{}|{}|{}|{},{},{},{},{},{},{},{}", to_string(c.problem),
      input, c.entry->algorithm->name, c.entry->source_hash,
      to_string(c.executor), device_name, version_line().substr(0, version_line().find('(')),
      m.warmup, m.rounds, m.min_samples, m.max_samples, m.max_seconds, m.target_spread, m.threads,
      to_string(m.cache));
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
void require_gpu(const cell& c, const sweep_config& config) {
  if (config.measure.multiprocessors == 0 || c.executor == executor_kind::cuda) return;
  throw error(
      failure::usage,
      fmt::format("{}: /measure/multiprocessors: {} would run on executor {}, which has no "
                  "multiprocessors; take cuda alone (\"executor\": \"cuda\" or --executor cuda), "
                  "or leave the setting away",
                  config.file_name, c.entry->algorithm->name, to_string(c.executor)));
}

// An algorithm that the config wants, and where.
struct wanted_entry {
  const registered* entry;
  const algorithm_filter* filter;
  std::vector<executor_kind> executors;

  bool takes(const workload& p) const {
    return !filter->where || filter->where->holds(p.n, p.q, p.k);
  }
};

std::vector<wanted_entry> entries_of(const plan_request& request) {
  std::vector<std::string_view> known;
  for (const registered& row : registry()) known.push_back(row.algorithm->name);
  check_algorithms(request.config, known, left_out_hint());
  std::vector<wanted_entry> entries;
  for (const registered& row : registry()) {
    const algorithm_filter* const filter = filter_for(request.config, row.algorithm->name);
    if (filter != nullptr) entries.push_back({&row, filter, executors_of(*row.algorithm, request)});
  }
  return entries;
}

// At most so many: two layouts of a problem may become one cell.
std::int64_t count_cells(std::span<const workload> problems,
                         std::span<const wanted_entry> entries) {
  std::int64_t count = 0;
  for (const workload& p : problems) {
    for (const wanted_entry& wanted : entries) {
      if (wanted.takes(p)) count += std::ssize(wanted.executors);
    }
  }
  return count;
}

void require_few(const plan_request& request, std::int64_t cells) {
  if (cells <= most_cells) return;
  throw error(failure::usage,
              fmt::format("{}: {}{} cells; a sweep has at most {}: name fewer algorithms or "
                          "executors, shorten the axes, or split it into several configs",
                          request.config.file_name, request.filter ? "more than " : "",
                          request.filter ? most_cells : cells, most_cells));
}

std::string title_of(const cell& c) {
  return fmt::format("{} {}", c.entry->algorithm->name, to_string(c.problem));
}

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

std::vector<cell> plan_cells(const plan_request& request, backends& places) {
  const std::vector<workload> problems = expand(request.config, request.input.sizes());
  const std::vector<wanted_entry> entries = entries_of(request);
  const std::optional<title_filter> filter =
      request.filter ? std::optional<title_filter>(*request.filter) : std::nullopt;
  if (!filter) require_few(request, count_cells(problems, entries));

  std::vector<cell> cells;
  std::unordered_set<std::string> seen;
  const std::string input = to_text(request.input.description());
  for (const workload& p : problems) {
    for (const wanted_entry& wanted : entries) {
      if (!wanted.takes(p)) continue;
      for (const executor_kind executor : wanted.executors) {
        cell c;
        c.problem = in_layout_of(*wanted.entry->algorithm, p);
        c.entry = wanted.entry;
        c.executor = executor;
        if (filter && !filter->matches(title_of(c))) continue;
        require_gpu(c, request.config);
        foresee(c, request.input, places);
        const bool here = why_unavailable(executor).empty();
        c.key = make_key(c, request, input, here ? name_of(places.open(executor)) : "");
        if (seen.insert(c.key).second) cells.push_back(std::move(c));
        require_few(request, std::ssize(cells));
      }
    }
  }
  if (cells.empty()) {
    throw error(failure::usage, fmt::format("{}: no cell is left{}", request.config.file_name,
                                            filter ? "; --filter excludes all" : ""));
  }
  return cells;
}

}  // namespace kselect::harness
