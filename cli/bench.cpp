// `kselect bench` says which algorithm is fastest here: it makes a sweep of one or a few problems,
// runs it as `kselect run` does, and prints the ranking.

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "cli/run_report.hpp"
#include "cli/sweep.hpp"
#include "harness/config/node.hpp"
#include "harness/export/text_tables.hpp"
#include "harness/tune/own_table.hpp"
#include "runtime/error.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/io/row_types.hpp"
#include "runtime/streams.hpp"

namespace kselect::cli {
namespace {

using json = nlohmann::ordered_json;

// What messages about the sweep's config name in place of a file.
constexpr char config_name[] = "kselect bench";

// More problems than this get a line each, and not a block each.
constexpr std::size_t most_blocks = 4;

struct bench_arguments {
  std::vector<std::string> n, q, k, dtype, distribution, payload, direction, layout;
  std::vector<std::string> algorithms = {"*"};
  std::string input, executor, out, baseline;
  std::uint64_t seed = 42;
  int threads = 0, rounds = 11;
  double seconds = 1;
};

// A folder for the records of one command, removed at its end.
class scratch_folder {
 public:
  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "kselect-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw error(failure::output, fmt::format("{}: {}; name another folder by TMPDIR, or give "
                                               "--out DIR",
                                               name, std::strerror(errno)));
    }
    path_ = name;
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

void set_axis(json& axes, const char* name, const std::vector<std::string>& values) {
  if (!values.empty()) axes[name] = values;
}

void require_type(const bench_arguments& o, const std::string& held) {
  for (const std::string& type : o.dtype) {
    if (type == held) continue;
    throw error(
        failure::usage,
        fmt::format("--dtype: {} is not what {} holds, which is \"{}\"; leave --dtype away, "
                    "or convert the file with NumPy's astype",
                    type, o.input, held));
  }
}

// The axes as a config has them. Rows of a file are taken whole and in the file's type unless the
// user says less.
json axes_of(const bench_arguments& o) {
  json axes = json::object();
  set_axis(axes, "n", o.n);
  set_axis(axes, "q", o.q);
  set_axis(axes, "k", o.k);
  set_axis(axes, "dtype", o.dtype);
  set_axis(axes, "payload", o.payload);
  set_axis(axes, "direction", o.direction);
  set_axis(axes, "layout", o.layout);
  set_axis(axes, "distribution", o.distribution);
  if (o.input.empty()) return axes;
  if (o.n.empty()) axes["n"] = "all";
  if (o.q.empty()) axes["q"] = "all";
  const npy_file rows = npy_file::open(o.input);
  // Of another type, opening the rows says how to convert it.
  if (const std::string held(to_string(rows.type())); parse<dtype>(held)) {
    require_type(o, held);
    axes["dtype"] = held;
  }
  if (o.layout.empty() && rows.fortran_order()) axes["layout"] = "column_major";
  return axes;
}

// The sweep of these arguments. It is parsed like a config's text, so that the same checks hold and
// meta.json keeps a config that can be run again.
sweep_config config_of(const bench_arguments& o) {
  json config = {{"schema", "kselect-config/1"}, {"name", "bench"}, {"seed", o.seed}};
  config["axes"] = axes_of(o);
  config["algorithms"] = o.algorithms;
  const bool many = o.n.size() > 1 || o.k.size() > 1;
  if (many) config["constraints"] = {"k <= n"};
  if (!o.input.empty()) {
    config["input"] = {{"rows", {{"file", std::filesystem::absolute(o.input).string()}}}};
  }
  config["measure"] = {{"rounds", o.rounds},
                       {"min_samples", o.rounds},
                       {"max_samples", 20 * o.rounds},
                       {"max_seconds", o.seconds},
                       {"threads", o.threads}};
  return parse_config(config.dump(), config_name);
}

// The option that a place of this command's config comes from: "k" of "/axes/k/0".
std::string option_of(std::string_view pointer) {
  if (pointer.starts_with("/input/rows")) return "input";
  if (pointer == "/measure/max_seconds") return "seconds";
  for (const std::string_view part : {"/axes/", "/measure/", "/"}) {
    if (!pointer.starts_with(part)) continue;
    const std::string_view rest = pointer.substr(part.size());
    return std::string(rest.substr(0, rest.find('/')));
  }
  return "";
}

// Refuses a k that no row has elements for; a sweep would say only that its constraint left
// nothing.
void require_k_in_rows(const sweep_config& config, const std::string& input) {
  const sweep_axes& axes = config.axes;
  const auto columns = [&]() -> std::int64_t {
    const npy_file rows = npy_file::open(input);
    return rows.shape().size() == 2 ? rows.shape()[1] : 0;  // else planning says what is wrong
  };
  std::int64_t longest = 0;
  for (const extent& n : axes.n) {
    longest = std::max(longest, n ? *n : columns());
  }
  if (axes.k.empty()) return;
  const std::int64_t least = *std::ranges::min_element(axes.k);
  if (longest == 0 || least <= longest) return;
  throw error(failure::usage,
              fmt::format("--k: k = {} is larger than n = {}{}: a row has no more than n elements "
                          "to select; give a smaller --k{}",
                          least, longest, input.empty() ? "" : " of " + input,
                          input.empty() ? " or a larger --n" : ""));
}

void require_sizes(const bench_arguments& o) {
  if (o.input.empty() && (o.n.empty() || o.q.empty())) {
    throw error(
        failure::usage,
        "give --n and --q, for example `kselect bench --n 16384 --q 256 --k 64`, or --input "
        "ROWS.npy");
  }
  if (!o.input.empty() && !o.distribution.empty()) {
    throw error(failure::usage, "--distribution is of generated rows; leave it or --input away");
  }
}

// Said before anything is measured.
void require_baseline(const planned_sweep& sweep, const std::string& baseline) {
  std::vector<std::string_view> planned;
  for (const cell& c : sweep.part.cells) planned.push_back(c.entry->algorithm->name);
  if (baseline.empty() || std::ranges::find(planned, baseline) != planned.end()) return;
  std::ranges::sort(planned);
  planned.erase(std::ranges::unique(planned).begin(), planned.end());
  const auto near = nearest_names(baseline, planned);
  throw error(failure::usage,
              fmt::format("--baseline '{}' is not among the algorithms to measure; {}", baseline,
                          near.empty() ? "add it to --algorithms"
                                       : fmt::format("near: {}", fmt::join(near, ", "))));
}

std::size_t problems_of(const compare::recorded_run& run) { return rank_cells(run).size(); }

int measure_and_rank(const bench_arguments& o, const std::vector<std::string>& arguments) {
  std::optional<scratch_folder> scratch;
  if (o.out.empty()) scratch.emplace();
  sweep_request request;
  request.config = config_of(o);
  require_k_in_rows(request.config, o.input);
  request.directory = scratch ? scratch->path() : o.out;
  request.arguments = arguments;
  request.cost_table = tune::own_table_json();
  planned_sweep sweep(
      std::move(request),
      {o.executor.empty() ? std::nullopt : parse<executor_kind>(o.executor), {}, {}, {}});
  require_baseline(sweep, o.baseline);
  print_message("{}", estimate_line(sweep));
  const sweep_result result = run_planned(sweep);
  const compare::recorded_run run = compare::read_run(sweep.request.directory);
  const table_view view = problems_of(run) <= most_blocks ? table_view::cells : table_view::brief;
  const report_options how{view, o.baseline, output_width()};
  fmt::print("{}{}\n{}{}", table_text(run, how), counts_text(run), failures_text(run),
             doubts_text(run));
  if (!scratch) fmt::print("records: {}/runs.jsonl\n", o.out);
  fmt::print("{}\n", answer_text(run, how));
  return code_of(result);
}

int bench(const bench_arguments& o, const std::vector<std::string>& arguments) {
  require_sizes(o);
  try {
    return measure_and_rank(o, arguments);
  } catch (const config_error& problem) {
    const std::string option = option_of(problem.pointer());
    if (option.empty()) throw;
    throw error(problem.category(), fmt::format("--{}: {}", option, problem.reason()));
  }
}

void add_problem_options(CLI::App& command, bench_arguments& o) {
  const auto list = [&](const char* option, std::vector<std::string>& into,
                        const std::string& help) {
    return command.add_option(option, into, help)->delimiter(',')->allow_extra_args(false);
  };
  list("--n", o.n, "row length; several: --n 1024,2^14");
  list("--q", o.q, "number of rows; several as --n");
  list("--k", o.k, "how many to select from each row; several as --n")->required();
  list("--dtype", o.dtype, "the default is float32; " + runtime::row_types());
  list("--distribution", o.distribution, "of the rows, as in a config: uniform (default), ...");
  list("--payload", o.payload, "values_and_indices (default), values, indices, kth_value");
  list("--direction", o.direction, "smallest (default), largest");
  list("--layout", o.layout, "row_major (default), column_major");
  command.add_option("--input", o.input,
                     "rows of this matrix (Q x n, .npy) instead of generated ones");
  command.add_option("--seed", o.seed, "of the generated rows")->capture_default_str();
}

}  // namespace

void add_bench(CLI::App& app, action& chosen, const std::vector<std::string>& arguments) {
  CLI::App* const command = app.add_subcommand(
      "bench", "Measure what can run here on a problem, in turns, and print who is fastest");
  const auto o = std::make_shared<bench_arguments>();
  add_problem_options(*command, *o);
  command
      ->add_option("--algorithms", o->algorithms,
                   "names or globs as in a config: 'auto,cpu/*@here'; default: all that can run")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--baseline", o->baseline,
                      "the algorithm that factors are over; default: the fastest from baselines/");
  command->add_option("--executor", o->executor, "run everything on this executor")
      ->check(CLI::IsMember({"cpu", "fiber", "cuda"}));
  option_threads(*command, o->threads);
  option_plugins(*command);
  command->add_option("--rounds", o->rounds, "turns of each algorithm")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--seconds", o->seconds, "sample each algorithm for at most so long")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  command->add_option("--out", o->out, "folder to keep the records in; default: they are not kept");
  command->callback(
      [&chosen, o, arguments] { chosen = [o, arguments] { return bench(*o, arguments); }; });
}

}  // namespace kselect::cli
