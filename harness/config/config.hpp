#pragma once
// A sweep as a file says it: which problems, which algorithms, on what input, measured how.
//
// A config is strict JSON ("schema": "kselect-config/1"). Whatever it does not define - an unknown
// or repeated key, a wrong type, an impossible value - is an error(failure::usage) whose one line
// names the file, the JSON pointer and what to write instead; nothing is ever guessed. The only
// comment is the key "_note" with a string, in any object. configs/config.schema.json says the same
// to editors; this parser is the authority.
//
// The structs below hold the file with ranges expanded and defaults filled in. Which problems
// follow from it is decided in cells.hpp.

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
#include "harness/workload/distribution.hpp"
#include "kselect/algorithm.hpp"
#include "kselect/problem.hpp"
#include "runtime/distance/distance.hpp"

namespace kselect::harness {

// The largest n, Q and k a config may ask for.
inline constexpr std::int64_t largest_size = std::int64_t{1} << 40;
// A sweep of more combinations than this is taken for a slip.
inline constexpr std::int64_t largest_sweep = 100'000;

// A row length or a number of rows; empty means "all": what the dataset holds.
using extent = std::optional<std::int64_t>;

// The values of each axis in the order of the file, free of repetitions.
struct sweep_axes {
  std::vector<extent> n;  // empty where derived as n_times_q / q
  std::vector<extent> q;  // empty where derived as n_times_q / n
  std::optional<std::int64_t> n_times_q;
  std::vector<std::int64_t> k;
  // In place of n, q and k, whose combinations are meant: these problems and no others.
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

  bool operator==(const sweep_axes&) const = default;
};

// Combinations to leave out: those equal to every member that is set.
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

// Algorithms by name or glob (`*` any run of characters, `?` one), where given only on the problems
// for which the expression holds. See filter_for.
struct algorithm_filter {
  std::string glob;
  std::optional<expression> where;

  bool operator==(const algorithm_filter&) const = default;
};

// Vectors whose components follow the problem's distribution, from its seed.
struct generated_vectors {
  std::int64_t dimension = 0;
  runtime::metric metric = runtime::metric::sqeuclidean;

  bool operator==(const generated_vectors&) const = default;
};

// Rows from the generator, by the problem's distribution and seed; or float32 distances from q to n
// vectors that it made.
struct generated_input {
  std::optional<generated_vectors> vectors;

  bool operator==(const generated_input&) const = default;
};

// Rows of float32 distances from q query vectors to the first n vectors of a base file; with
// exclude_self to the first n + 1 less the query itself, so that n is the row's length either way.
struct dataset_input {
  std::string base;                  // as written, see dataset_path
  std::optional<std::string> query;  // as written; empty exactly if `self`
  runtime::metric metric = runtime::metric::sqeuclidean;
  bool self = false;                  // the first q base vectors are the queries
  bool exclude_self = false;          // a query is not its own neighbour
  std::optional<std::int64_t> limit;  // read only so many base vectors; "all" then means these

  bool operator==(const dataset_input&) const = default;
};

using input_spec = std::variant<generated_input, dataset_input>;

// What the caches of a CPU hold of the working set when a timed run begins. (A GPU's L2 is always
// flushed for the cold time; its batch time is the steady state.)
enum class cpu_cache : std::uint8_t { warm, flushed };
constexpr auto names_of(cpu_cache) {
  return std::to_array<named<cpu_cache>>(
      {{cpu_cache::warm, "warm"}, {cpu_cache::flushed, "flushed"}});
}

// All algorithms of a cell group take turns, `rounds` times, in an order that puts each of them in
// every place. More rounds follow until the relative width of the interval of the median of round
// medians is at most target_spread; max_samples (of all rounds together) and max_seconds (of one
// cell) end it in any case, even before the rounds are full.
struct measure_policy {
  int warmup = 1;  // untimed runs at the start of each turn
  int rounds = 11;
  int min_samples = 11;
  int max_samples = 220;
  double max_seconds = 2.0;
  double target_spread = 0.02;
  int threads = 0;  // host threads; 0: all this process may use
  harness::cpu_cache cache = cpu_cache::warm;
  double timeout_s = 60;  // of one run of an algorithm, or of its proof

  bool operator==(const measure_policy&) const = default;
};

struct sweep_config {
  std::string file_name;  // where it was read from; begins every message, anchors dataset paths
  std::string name;       // [a-z0-9_-]+, at most 64
  std::string description;
  std::uint64_t seed = 42;
  sweep_axes axes;
  std::vector<expression> constraints;  // a combination that violates one is left out
  std::vector<exclusion> excludes;
  std::vector<algorithm_filter> algorithms;
  input_spec input;
  measure_policy measure;
  std::vector<executor_kind> executors;  // empty: "auto", whatever runs here

  bool operator==(const sweep_config&) const = default;
};

// The config in `text`; `file_name` is what messages call it and where relative dataset paths
// start. Throws error(failure::usage).
sweep_config parse_config(std::string_view text, const std::string& file_name);

// Reads and parses. Throws error(failure::input) if the file cannot be read.
sweep_config load_config(const std::filesystem::path& file);

// The config with nothing left to defaults or ranges, as JSON: parse_config of its dump, under the
// same file name, gives an equal config.
nlohmann::ordered_json resolved_json(const sweep_config& config);

// Throws error(failure::usage) naming the first entry of /algorithms that matches none of the names
// of all known algorithms, with the nearest ones. The message ends with `hint`, which may say why
// names are missing.
void check_algorithms(const sweep_config& config, std::span<const std::string_view> known,
                      std::string_view hint = {});

// The entry of /algorithms that decides on an algorithm: the last one that matches its name, so
// that
// ["cpu/*", {"name": "cpu/sort", "where": "n <= 2^20"}] restricts cpu/sort alone. Null: not wanted.
const algorithm_filter* filter_for(const sweep_config& config, std::string_view algorithm);

// A dataset path as the file system wants it: every ${NAME} replaced by that environment variable,
// and a relative path taken from the config file's folder. Throws error(failure::usage) if a
// variable is not set.
std::filesystem::path dataset_path(const sweep_config& config, const std::string& written);

}  // namespace kselect::harness
