#pragma once
// A sweep as its file describes it: problems, algorithms, input and measurement policy.
//
// A config is strict JSON ("schema": "kselect-config/1"). Anything undefined (an unknown or
// repeated key, a wrong type, an impossible value) throws error(failure::usage). Its one-line
// message names the file, the JSON pointer and what to write instead. Nothing is guessed. The only
// comment is the key "_note" with a string, in any object. configs/config.schema.json describes the
// format for editors, but this parser decides.
//
// The structs below hold the file with ranges expanded and defaults filled in. cells.hpp derives
// the problems from them.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/config/expression.hpp"
#include "harness/harness.hpp"
#include "harness/task/task.hpp"
#include "harness/workload/distribution.hpp"
#include "harness/workload/drawn_mask.hpp"
#include "harness/workload/row_lengths.hpp"
#include "kselect/algorithm.hpp"
#include "kselect/problem.hpp"
#include "runtime/distance/distance.hpp"

namespace kselect::harness {

// The largest n, Q and k a config may ask for.
inline constexpr std::int64_t largest_size = std::int64_t{1} << 40;
// A sweep of more combinations is taken for a mistake. Cells can then be counted in 64 bits.
inline constexpr std::int64_t largest_sweep = 1'000'000'000'000;

// A row length or a number of rows. Empty means "all": the size of the dataset or of the rows'
// file.
using extent = std::optional<std::int64_t>;

// The values of each axis, in the order of the file and without repetitions.
struct sweep_axes {
  std::vector<extent> n;  // empty if derived as n_times_q / q
  std::vector<extent> q;  // empty if derived as n_times_q / n
  std::optional<std::int64_t> n_times_q;
  std::vector<std::int64_t> k;
  // Replaces n, q and k, which mean all their combinations: exactly these problems.
  struct shape {
    std::int64_t n, q, k;
    bool operator==(const shape&) const = default;
  };
  std::vector<shape> shapes;
  std::vector<dtype> types{problem{}.type};
  std::vector<kselect::payload> payloads{problem{}.payload};
  std::vector<kselect::direction> directions{problem{}.direction};
  std::vector<kselect::layout> layouts{problem{}.layout};
  std::vector<index_type> indices{problem{}.index};
  std::vector<harness::distribution> distributions{harness::distribution{}};
  std::vector<harness::row_lengths> row_lengths{harness::row_lengths{}};
  std::vector<drawn_mask> masks{drawn_mask{}};
  std::vector<nan_order> nans{problem{}.nan};
  std::vector<axis_values> own;  // of the task, in its order; empty for selection

  bool operator==(const sweep_axes&) const = default;
};

// Leaves out the combinations that equal every member that is set.
struct exclusion {
  std::optional<std::int64_t> n, q, k;
  std::optional<dtype> type;
  std::optional<kselect::payload> payload;
  std::optional<kselect::direction> direction;
  std::optional<kselect::layout> layout;
  std::optional<index_type> index;
  std::optional<harness::distribution> distribution;

  bool operator==(const exclusion&) const = default;
};

// Selects algorithms by name or glob (`*` any run of characters, `?` one). With `where`, only on
// the problems for which the expression holds. See filter_for.
//
// `here` (written "cpu/*@here"): an algorithm gets no cell on an executor that it cannot run on
// here, because the machine lacks a GPU or the program a library. The glob "*" has it always. All
// others get cells that say `unsupported`, since someone named them.
struct algorithm_filter {
  std::string glob;
  std::optional<expression> where;
  bool here = false;

  bool only_here() const { return here || glob == "*"; }

  bool operator==(const algorithm_filter&) const = default;
};

// Vectors whose components come from the problem's distribution and seed.
struct generated_vectors {
  std::int64_t dimension = 0;
  runtime::metric metric = runtime::metric::sqeuclidean;

  bool operator==(const generated_vectors&) const = default;
};

// Rows from the generator, by the problem's distribution and seed. With `vectors`, rows of float32
// distances from q to n generated vectors.
struct generated_input {
  std::optional<generated_vectors> vectors;

  bool operator==(const generated_input&) const = default;
};

// Rows of float32 distances from q query vectors to the first n vectors of a base file. With
// exclude_self, to the first n + 1 except the query itself: n is the row's length either way.
struct dataset_input {
  std::string base;                  // as written, see dataset_path
  std::optional<std::string> query;  // as written; empty exactly if `self`
  runtime::metric metric = runtime::metric::sqeuclidean;
  bool self = false;                  // the first q base vectors are the queries
  bool exclude_self = false;          // a query is not its own neighbour
  std::optional<std::int64_t> limit;  // base vectors to read; "all" then means these

  bool operator==(const dataset_input&) const = default;
};

// Rows of a matrix in an .npy file (Q x n): the first n elements of its first Q rows.
struct rows_input {
  std::string file;  // as written, see dataset_path

  bool operator==(const rows_input&) const = default;
};

using input_spec = std::variant<generated_input, dataset_input, rows_input>;

// Where the elements of the rows come from.
enum class rows_origin : std::uint8_t { generator, dataset, file };
inline rows_origin origin_of(const input_spec& input) {
  return static_cast<rows_origin>(input.index());
}

// The state of a CPU's caches when a timed run begins. (On a GPU, L2 is always flushed for the cold
// time; the batch time shows the steady state.)
enum class cpu_cache : std::uint8_t { warm, flushed };
constexpr auto names_of(cpu_cache) {
  return std::to_array<named<cpu_cache>>(
      {{cpu_cache::warm, "warm"}, {cpu_cache::flushed, "flushed"}});
}

// All algorithms of a cell group take turns, `rounds` times, in an order that puts each of them in
// every place. More rounds follow until the interval of the median of round medians is at most
// target_spread wide, relative to the median. max_samples (of all rounds) and max_seconds (of one
// cell) end it earlier, even before `rounds` is reached. Without rounds each cell runs once and is
// proven, but not timed: for profilers, which hold up launches.
struct measure_policy {
  int warmup = 1;  // untimed runs at the start of each turn
  int rounds = 11;
  int min_samples = 11;
  int max_samples = 220;
  double max_seconds = 2.0;
  double target_spread = 0.02;
  int threads = 0;  // host threads; 0: all this process may use
  harness::cpu_cache cache = cpu_cache::warm;
  double timeout_s = 60;    // limit for one run of an algorithm, or for its proof
  int multiprocessors = 0;  // of a GPU, that its work is confined to; 0: all

  bool operator==(const measure_policy&) const = default;
};

struct sweep_config {
  std::string file_name;  // the source; begins every message, anchors dataset paths
  std::string name;       // [a-z0-9_-]+, at most 64
  std::string description;
  const harness::task* task = nullptr;  // one that was added (harness/task); null: selection
  std::uint64_t seed = 42;
  sweep_axes axes;
  std::vector<expression> constraints;  // a combination that violates one is left out
  std::vector<exclusion> excludes;
  std::vector<algorithm_filter> algorithms;
  input_spec input;
  measure_policy measure;
  std::vector<executor_kind> executors;  // empty: "auto", whatever is available here
  std::vector<std::string> plugins;      // as written, see dataset_path
  // Sweeps of several tasks or axes that are run as one ("parts"). Each has a task, axes,
  // algorithms, an input and executors of its own, and all else of the whole. The whole then has
  // none of these.
  std::vector<sweep_config> parts;
  std::string pointer;  // of a part: "/parts/1"

  // What begins a message about the value at a JSON pointer below this sweep: "FILE: /axes/k".
  std::string place(std::string_view below) const {
    return file_name + ": " + pointer + std::string(below);
  }

  bool operator==(const sweep_config&) const = default;
};

// The config in `text`. `file_name` begins every message, and relative dataset paths start at its
// folder. Throws error(failure::usage).
sweep_config parse_config(std::string_view text, const std::string& file_name);

// Reads and parses a file, and the files of lengths that it names. Throws error(failure::input) if
// one cannot be read, else as parse_config.
sweep_config load_config(const std::filesystem::path& file);

// The config as JSON, with all defaults and ranges written out. parse_config of its dump, under the
// same file name, gives an equal config.
nlohmann::ordered_json resolved_json(const sweep_config& config);

// Throws error(failure::usage) for the first entry of /algorithms that matches no name in `known`.
// The message lists the nearest names and ends with `hint`, which may say why names are missing.
void check_algorithms(const sweep_config& config, std::span<const std::string_view> known,
                      std::string_view hint = {});

// Throws error(failure::usage) unless the only task is selection. `who` does nothing else:
// "counters".
void require_selection(const sweep_config& config, std::string_view who);

// The entry of /algorithms that applies to an algorithm: the last that matches its name. So
// ["cpu/*", {"name": "cpu/sort", "where": "n <= 2^20"}] restricts only cpu/sort. Null if none
// matches.
const algorithm_filter* filter_for(const sweep_config& config, std::string_view algorithm);

// One line for each entry of /algorithms that applies to no name in `known`, because a later entry
// applies to every name that it matches.
std::vector<std::string> idle_entries(const sweep_config& config,
                                      std::span<const std::string_view> known);

// A path of a dataset or a plug-in for the file system: every ${NAME} is replaced by that
// environment variable, and a relative path starts at the config file's folder. Throws
// error(failure::usage) if a variable is not set.
std::filesystem::path dataset_path(const sweep_config& config, const std::string& written);

}  // namespace kselect::harness
