// `kselect explain` shows what the entry `auto` would run on a problem, and why; of another entry,
// whether it takes the problem, and what it launches.

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "algorithms/auto_select/choose.hpp"
#include "cli/commands.hpp"
#include "cli/required_order.hpp"
#include "harness/tune/processor_table.hpp"
#include "kselect/simt/launch_notes.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/row_types.hpp"
#include "runtime/plugins/plugins.hpp"

namespace kselect::cli {
namespace {

struct explain_arguments {
  problem shape;
  std::string type = "float32", layout = "row_major", payload = "values_and_indices";
  std::string algorithm = "auto", executor = "auto";
  int threads = 0;
  std::string device;
  int multiprocessors = 0;
  int shared_kib = 227;
  bool as_json = false;
  requirements require;
};

template <class Enum>
Enum value_of(const std::string& option, const std::string& name) {
  for (const auto& entry : names<Enum>) {
    if (entry.name == name) return entry.value;
  }
  throw error(failure::usage, fmt::format("{}: \"{}\" is not known", option, name));
}

// A GPU that is not in this machine: by the name of its cost table, or by its described properties.
device described(const explain_arguments& o) {
  device d;
  d.kind = executor_kind::cuda;
  d.name = o.device.empty() ? "a GPU as described" : o.device;
  d.multiprocessors = o.multiprocessors;
  d.shared_bytes = static_cast<std::size_t>(o.shared_kib) << 10;
  if (o.device.empty()) return d;
  const cost_table* const table = find_cost_table(o.device);
  if (table == nullptr) {
    std::vector<std::string_view> known;
    for (const cost_table& t : cost_tables()) known.push_back(t.device);
    throw error(
        failure::usage,
        fmt::format("--device: there is no cost table of \"{}\", only of {}; describe it by "
                    "--multiprocessors instead, or run `kselect tune` on it",
                    o.device, fmt::join(known, ", ")));
  }
  if (o.multiprocessors == 0) d.multiprocessors = table->multiprocessors;
  d.compute_capability = table->compute_capability;
  return d;
}

device device_of(const explain_arguments& o, const algorithm& entry) {
  if (o.multiprocessors != 0 || !o.device.empty()) return described(o);
  return open_backend(require_executor(o.executor, entry), o.threads)->description();
}

std::string device_text(const device& d) {
  if (d.kind == executor_kind::cuda) {
    return fmt::format("{}, {} multiprocessors", d.name, d.multiprocessors);
  }
  return fmt::format("{}, {}", to_string(d.kind), amount_of(d.threads, "thread"));
}

double microseconds(double ns) { return ns / 1000; }

// Why the table applies to the device; empty without a table.
std::string table_text(const choice& c, const device& where) {
  if (c.table == nullptr) return {};
  if (c.table->device == where.name) return fmt::format("{}: {}", c.table->device, c.table->source);
  if (where.kind == executor_kind::cpu) {
    return fmt::format("{} with {}, because {} has no table: the times are rough ({})",
                       c.table->device, amount_of(c.table->multiprocessors, "thread"), where.name,
                       c.table->source);
  }
  return fmt::format(
      "{} ({} multiprocessors), the nearest that was tuned; the prediction keeps the number of "
      "rows a multiprocessor",
      c.table->device, c.table->multiprocessors);
}

// The reason for the choice, and how much slower the next best is.
std::string reason_text(const choice& c, const std::vector<ranked_member>& ranked) {
  // On a processor rules choose, so another entry may be predicted to be faster.
  const auto next =
      std::ranges::find_if(ranked, [&](const ranked_member& r) { return r.member != c.member; });
  if (c.table == nullptr || next == ranked.end()) return std::string(c.reason);
  return fmt::format("{}; next is {} at {:.4g} us, {:.2f} times as long", c.reason,
                     next->member->name, microseconds(next->predicted_ns),
                     next->predicted_ns / c.predicted_ns);
}

// Adds the times that a table of the processor predicts, if it has the chosen entry.
std::vector<ranked_member> predict_on_processor(choice& c, const problem& p, const device& where) {
  const cost_table* const table = tune::table_of_processor(where);
  if (table == nullptr) return {};
  std::vector<ranked_member> ranked;
  for (const tune::predicted_entry& each : tune::rank_entries(*table, p, where)) {
    ranked.push_back({each.entry, each.predicted_ns});
    if (each.entry->name != c.member->name) continue;
    ranked.back().member = c.member;
    c.predicted_ns = each.predicted_ns;
    c.table = table;
  }
  return c.table == nullptr ? std::vector<ranked_member>{} : ranked;
}

// The kernels that the plan would launch, without memory or a launch. Empty for native code and for
// entries that synchronise.
std::vector<simt::noted_launch> launches_of(const registered& row, const call_plan& plan,
                                            const device& where) {
  const algorithm& runs = plan.entry() == nullptr ? *row.algorithm : *plan.entry();
  if (where.kind == executor_kind::cpu || runs.promises.synchronises) return {};
  simt::launch_notes notes;
  // A plug-in has a seam of its own, or none.
  const loaded_plugin* const plugin = find_plugin(row.file);
  const auto note_there = plugin == nullptr ? nullptr : plugin->exported->note_launches;
  if (plugin != nullptr && note_there == nullptr) return {};
  if (note_there != nullptr) note_there(&notes);
  const executor on{.device = &where};
  const status noted =
      plan.enqueue({}, std::span(static_cast<std::byte*>(nullptr), plan.workspace()), on);
  if (note_there != nullptr) note_there(nullptr);
  if (!noted.ok()) {
    throw error(failure::unsupported, fmt::format("{}: {}", runs.name, noted.message));
  }
  return std::move(notes.launches);
}

// A kernel's name without namespaces: "stream_kernel<float, true, 8>".
std::string_view short_name(std::string_view kernel) {
  const std::size_t scope = kernel.substr(0, kernel.find('<')).rfind("::");
  return scope == std::string_view::npos ? kernel : kernel.substr(scope + 2);
}

std::string launch_text(const simt::noted_launch& l) {
  std::string text =
      fmt::format("{}, {} of {}", short_name(l.kernel), amount_of(l.shape.blocks, "block"),
                  amount_of(l.shape.threads, "thread"));
  if (l.shape.dynamic_shared_bytes != 0) {
    text += fmt::format(", {} bytes of dynamic shared memory", l.shape.dynamic_shared_bytes);
  }
  return text;
}

struct explanation {
  std::string_view entry;  // `auto`, or its variant with the required promises
  choice chosen;
  std::vector<ranked_member> ranked;
  std::vector<simt::noted_launch> launches;
};

nlohmann::ordered_json launches_json(const std::vector<simt::noted_launch>& launches) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const simt::noted_launch& l : launches) {
    all.push_back({{"kernel", l.kernel},
                   {"blocks", l.shape.blocks},
                   {"threads", l.shape.threads},
                   {"dynamic_shared_bytes", l.shape.dynamic_shared_bytes}});
  }
  return all;
}

void print_line(const char* what, const std::string& text) {
  fmt::print("  {:<10} {}\n", what, text);
}

void print_explanation_json(const explain_arguments& o, const device& where, const explanation& e) {
  nlohmann::ordered_json shown = {{"problem", to_string(o.shape)},
                                  {"device", device_text(where)},
                                  {"entry", e.entry},
                                  {"algorithm", e.chosen.member->name},
                                  {"reason", reason_text(e.chosen, e.ranked)},
                                  {"workspace_bytes", e.chosen.plan.workspace()},
                                  {"plan_bytes", e.chosen.plan.bytes_of_decisions()},
                                  {"predicted_us", nullptr},
                                  {"table", nullptr},
                                  {"launches", launches_json(e.launches)},
                                  {"members", nlohmann::ordered_json::array()}};
  if (e.chosen.table != nullptr) {
    shown["predicted_us"] = microseconds(e.chosen.predicted_ns);
    shown["table"] = table_text(e.chosen, where);
  }
  for (const ranked_member& r : e.ranked) {
    shown["members"].push_back(
        {{"algorithm", r.member->name}, {"predicted_us", microseconds(r.predicted_ns)}});
  }
  fmt::print("{}\n", shown.dump(2));
}

void print_explanation(const explain_arguments& o, const device& where, const explanation& e) {
  const choice& c = e.chosen;
  fmt::print("{}\n", to_string(o.shape));
  print_line(fmt::format("{} runs", e.entry).c_str(), std::string(c.member->name));
  if (c.table != nullptr) {
    print_line("predicted",
               fmt::format("{:.4g} us, the rows {}in cache", microseconds(c.predicted_ns),
                           where.kind == executor_kind::cpu ? "" : "not "));
  }
  print_line("because", reason_text(c, e.ranked));
  if (c.table != nullptr) print_line("table", table_text(c, where));
  for (const simt::noted_launch& l : e.launches) print_line("launches", launch_text(l));
  print_line("on", device_text(where));
  print_line("workspace", fmt::format("{} bytes", c.plan.workspace()));
  print_line("plan", fmt::format("{} bytes of decisions", c.plan.bytes_of_decisions()));
}

// An entry other than `auto` makes no choice.
int explain_entry(const explain_arguments& o, const registered& row) {
  const algorithm& entry = *row.algorithm;
  const problem& p = o.shape;
  const device where = device_of(o, entry);
  const call_plan plan = plan_call(entry, p, where);
  if (!plan) {
    throw error(failure::unsupported, fmt::format("{} does not take {} on {}: {}", entry.name,
                                                  to_string(p), device_text(where), plan.reason()));
  }
  const auto launches = launches_of(row, plan, where);
  if (o.as_json) {
    const nlohmann::ordered_json shown = {{"problem", to_string(p)},
                                          {"device", device_text(where)},
                                          {"entry", entry.name},
                                          {"algorithm", entry.name},
                                          {"workspace_bytes", plan.workspace()},
                                          {"plan_bytes", plan.bytes_of_decisions()},
                                          {"launches", launches_json(launches)}};
    fmt::print("{}\n", shown.dump(2));
    return 0;
  }
  fmt::print("{}\n", to_string(p));
  print_line("runs", std::string(entry.name));
  if (find_plugin(row.file) != nullptr) print_line("plug-in", std::string(row.file));
  for (const simt::noted_launch& l : launches) print_line("launches", launch_text(l));
  print_line("on", device_text(where));
  print_line("workspace", fmt::format("{} bytes", plan.workspace()));
  print_line("plan", fmt::format("{} bytes of decisions", plan.bytes_of_decisions()));
  return 0;
}

int explain(explain_arguments o) {
  problem& p = o.shape;
  p.type = value_of<dtype>("--dtype", o.type);
  p.layout = value_of<layout>("--layout", o.layout);
  p.payload = value_of<payload>("--payload", o.payload);
  if (p.k > p.n) {
    throw error(failure::usage, fmt::format("--k {} is more than --n {}", p.k, p.n));
  }
  const registered& row = require_algorithm(o.algorithm, o.require);
  if (o.algorithm != "auto") return explain_entry(o, row);
  const algorithm& entry = *row.algorithm;
  const device where = device_of(o, entry);
  const choice c = choose_algorithm(p, where, o.require);
  if (c.member == nullptr) {
    throw error(failure::unsupported,
                fmt::format("no member of auto takes {} on {}", to_string(p), device_text(where)));
  }
  explanation e;
  e.entry = entry.name;
  e.chosen = c;
  if (where.kind == executor_kind::cpu) {
    e.ranked = predict_on_processor(e.chosen, p, where);
  } else if (c.table != nullptr) {
    e.ranked = rank_members(p, where);
  }
  e.launches = launches_of(row, c.plan, where);
  (o.as_json ? print_explanation_json : print_explanation)(o, where, e);
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "explain", "Say what `auto` would run on a problem, and why, or what an entry launches");
  const auto o = std::make_shared<explain_arguments>();
  const auto size = CLI::Range(std::int64_t{1}, std::int64_t{1} << 40);
  command->add_option("--n", o->shape.n, "row length")->required()->check(size);
  command->add_option("--q", o->shape.q, "number of rows")->required()->check(size);
  command->add_option("--k", o->shape.k, "how many of each row")->required()->check(size);
  command->add_option("--dtype", o->type, runtime::row_types())
      ->type_name("TYPE")
      ->capture_default_str();
  command->add_option("--layout", o->layout, "row_major or column_major")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--payload", o->payload, "values, values_and_indices, indices or kth_value")
      ->type_name("NAME")
      ->capture_default_str();
  option_order(*command, o->require);
  option_algorithm(*command, o->algorithm);
  option_plugins(*command);
  option_executor(*command, o->executor);
  option_threads(*command, o->threads);
  command
      ->add_option("--device", o->device,
                   "a GPU that is not here, but has a cost table, e.g. \"NVIDIA H200\"")
      ->type_name("NAME");
  command
      ->add_option("--multiprocessors", o->multiprocessors,
                   "of a GPU that is not here: its multiprocessors")
      ->check(CLI::Range(1, 100'000));
  command
      ->add_option("--shared-kib", o->shared_kib,
                   "with --device or --multiprocessors: KiB of shared memory a block may have")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_flag("--json", o->as_json, "as JSON");
  command->callback([&chosen, o] { chosen = [o] { return explain(*o); }; });
}

}  // namespace kselect::cli
