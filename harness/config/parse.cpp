// Parses JSON text into a sweep_config, with one function per top-level key. resolved.cpp must
// write every key that is read here, and configs/config.schema.json must allow it.

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/config/axes.hpp"
#include "harness/config/config.hpp"
#include "harness/config/json_text.hpp"
#include "harness/config/lengths_file.hpp"
#include "harness/config/node.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

constexpr std::string_view schema = "kselect-config/1";
constexpr int most_samples = 1'000'000;
constexpr int most_rounds = 1000;
constexpr int most_threads = 4096;
constexpr int most_multiprocessors = 4096;
constexpr std::int64_t most_components = 1 << 20;
constexpr double longest_measurement = 86'400;  // seconds

void check_schema(const node& at) {
  if (at.string() != schema) {
    at.fail(fmt::format("must be \"{}\", is {}", schema, in_quotes(at.string())));
  }
}

// The name becomes a folder's name.
std::string parse_name(const node& at) {
  const std::string& name = at.string();
  const bool valid = !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (!valid) at.fail(fmt::format("must be 1 to 64 of a-z 0-9 _ -, is {}", in_quotes(name)));
  return name;
}

std::vector<expression> parse_constraints(const node& at) {
  std::vector<expression> constraints;
  for (const node& entry : at.list()) constraints.push_back(entry.expression());
  return constraints;
}

constexpr std::string_view here_suffix = "@here";

// A glob, perhaps with the suffix.
algorithm_filter parse_glob(const node& at) {
  std::string glob = at.string();
  const bool here = glob.ends_with(here_suffix);
  if (here) glob.resize(glob.size() - here_suffix.size());
  // Algorithm names have no other characters, and other globs take these as patterns.
  const bool valid = !glob.empty() && glob.size() <= 128 && std::ranges::all_of(glob, [](char c) {
    return c > ' ' && c <= '~' && c != '[' && c != ']' && c != '\\' && c != '@';
  });
  if (!valid) {
    at.fail(fmt::format(
        "{} is no algorithm's name or glob{}", in_quotes(at.string()),
        glob.find('@') == std::string::npos ? "" : "; an @ stands in the suffix \"@here\" alone"));
  }
  return {std::move(glob), std::nullopt, here};
}

algorithm_filter parse_filter(const node& at) {
  if (at.is_string()) return parse_glob(at);
  constexpr std::array<std::string_view, 2> keys = {"name", "where"};
  at.require_keys(keys);
  algorithm_filter filter = parse_glob(at.required("name"));
  if (const auto where = at.optional("where")) filter.where = where->expression();
  return filter;
}

std::vector<algorithm_filter> parse_algorithms(const node& at) {
  std::vector<algorithm_filter> filters;
  for (const node& entry : at.list()) {
    algorithm_filter filter = parse_filter(entry);
    if (std::ranges::find(filters, filter.glob, &algorithm_filter::glob) != filters.end()) {
      entry.fail(fmt::format("repeats {}; keep one of them", in_quotes(filter.glob)));
    }
    filters.push_back(std::move(filter));
  }
  return filters;
}

// Of rows of distances. The inner product is a metric of searches.
runtime::metric parse_metric(const node& at) {
  const auto metric = at.enumerator<runtime::metric>("metric");
  if (metric == runtime::metric::inner_product) {
    at.fail("\"inner_product\" is a metric of searches alone: write \"task\": \"knn\"");
  }
  return metric;
}

// A task that was added has its metrics as an axis. Without queries, those are the base itself.
dataset_input parse_dataset(const node& at, bool of_selection) {
  std::vector<std::string_view> keys = {"base", "query", "limit"};
  if (of_selection) keys.insert(keys.end(), {"metric", "self", "exclude_self"});
  at.require_keys(keys);
  dataset_input dataset;
  dataset.base = at.required("base").path();
  if (of_selection) {
    dataset.metric = parse_metric(at.required("metric"));
  }
  if (const auto self = at.optional("self")) dataset.self = self->boolean();
  if (const auto query = at.optional("query")) dataset.query = query->path();
  if (!of_selection) dataset.self = !dataset.query;
  if (dataset.self == dataset.query.has_value()) {
    at.fail("give either \"query\" or \"self\": true");
  }
  if (const auto exclude = at.optional("exclude_self")) {
    dataset.exclude_self = exclude->boolean();
    if (dataset.exclude_self && !dataset.self) exclude->fail("needs \"self\": true");
  }
  if (const auto limit = at.optional("limit")) dataset.limit = limit->size(1, largest_size);
  return dataset;
}

generated_input parse_generator(const node& at, bool of_selection) {
  std::vector<std::string_view> keys;
  if (of_selection) keys.push_back("vectors");
  at.require_keys(keys);
  const auto vectors = at.optional("vectors");
  if (!vectors) return {};
  constexpr std::array<std::string_view, 2> vector_keys = {"dimension", "metric"};
  vectors->require_keys(vector_keys);
  return {generated_vectors{vectors->required("dimension").size(1, most_components),
                            parse_metric(vectors->required("metric"))}};
}

rows_input parse_rows(const node& at) {
  constexpr std::array<std::string_view, 1> keys = {"file"};
  at.require_keys(keys);
  return {at.required("file").path()};
}

input_spec parse_input(const node& at, bool of_selection) {
  std::vector<std::string_view> keys = {"generator", "dataset"};
  if (of_selection) keys.push_back("rows");
  at.require_keys(keys);
  const auto generator = at.optional("generator");
  const auto dataset = at.optional("dataset");
  const auto rows = at.optional("rows");
  if (generator.has_value() + dataset.has_value() + rows.has_value() != 1) {
    at.fail(of_selection ? "give one of \"generator\", \"dataset\" and \"rows\""
                         : "give one of \"generator\" and \"dataset\"");
  }
  if (dataset) return parse_dataset(*dataset, of_selection);
  if (rows) return parse_rows(*rows);
  return parse_generator(*generator, of_selection);
}

measure_policy parse_measure(const node& at) {
  constexpr std::array<std::string_view, 10> keys = {
      "warmup",        "rounds",  "min_samples", "max_samples", "max_seconds",
      "target_spread", "threads", "cpu_cache",   "timeout_s",   "multiprocessors"};
  at.require_keys(keys);
  measure_policy policy;
  const auto read = [&](std::string_view key, int low, int high, int& value) {
    if (const auto given = at.optional(key)) value = static_cast<int>(given->integer(low, high));
  };
  read("warmup", 0, most_samples, policy.warmup);
  read("rounds", 0, most_rounds, policy.rounds);
  read("min_samples", 1, most_samples, policy.min_samples);
  read("max_samples", 1, most_samples, policy.max_samples);
  read("threads", 0, most_threads, policy.threads);
  read("multiprocessors", 0, most_multiprocessors, policy.multiprocessors);
  if (policy.max_samples < policy.min_samples) {
    at.fail(fmt::format("max_samples = {} is less than min_samples = {}", policy.max_samples,
                        policy.min_samples));
  }
  if (const auto seconds = at.optional("max_seconds")) {
    policy.max_seconds = seconds->number(0.001, longest_measurement);
  }
  if (const auto spread = at.optional("target_spread")) policy.target_spread = spread->number(0, 1);
  if (const auto cache = at.optional("cpu_cache")) {
    policy.cache = cache->enumerator<harness::cpu_cache>("cpu_cache");
  }
  if (const auto limit = at.optional("timeout_s")) {
    policy.timeout_s = limit->number(0.001, longest_measurement);
  }
  return policy;
}

std::vector<executor_kind> parse_executors(const node& at) {
  if (at.is_string() && at.string() == "auto") return {};
  std::vector<executor_kind> executors;
  for (const node& entry : at.list_or_single()) {
    const auto kind = entry.enumerator<executor_kind>("executor");
    if (std::ranges::find(executors, kind) != executors.end()) {
      entry.fail(fmt::format("repeats the value {}", to_string(kind)));
    }
    executors.push_back(kind);
  }
  return executors;
}

// The files themselves are loaded before the sweep is planned (harness/run/plugins_of_config.hpp).
std::vector<std::string> parse_plugins(const node& at) {
  std::vector<std::string> files;
  for (const node& entry : at.list()) {
    const std::string file = entry.path();
    if (std::ranges::find(files, file) != files.end()) {
      entry.fail(fmt::format("repeats {}; keep one of them", in_quotes(file)));
    }
    files.push_back(file);
  }
  return files;
}

// Null for selection.
const task* parse_task(const node& at) {
  const std::string& name = at.string();
  if (name == selection_name) return nullptr;
  const task* const found = find_added_task(name);
  if (found == nullptr) at.fail_unknown("task", name, task_names());
  return found;
}

constexpr std::array<std::string_view, 6> keys_of_whole = {"schema", "name",    "description",
                                                           "seed",   "measure", "plugins"};
constexpr std::array<std::string_view, 7> keys_of_part = {
    "task", "axes", "constraints", "exclude", "algorithms", "input", "executor"};

// What a sweep has once, however many parts it has.
sweep_config parse_whole(const node& root, const std::string& file_name) {
  check_schema(root.required("schema"));
  sweep_config config;
  config.file_name = file_name;
  config.name = parse_name(root.required("name"));
  if (const auto text = root.optional("description")) config.description = text->string();
  if (const auto seed = root.optional("seed")) config.seed = seed->unsigned_integer();
  if (const auto measure = root.optional("measure")) config.measure = parse_measure(*measure);
  if (const auto plugins = root.optional("plugins")) config.plugins = parse_plugins(*plugins);
  return config;
}

// Adds the task, with all that belongs to it.
void parse_part(const node& root, sweep_config& config) {
  if (const auto task = root.optional("task")) config.task = parse_task(*task);
  const bool of_selection = config.task == nullptr;
  if (const auto input = root.optional("input")) config.input = parse_input(*input, of_selection);
  config.axes = parse_axes(root.required("axes"), origin_of(config.input), config.task);
  const auto* const generated = std::get_if<generated_input>(&config.input);
  if (generated != nullptr && generated->vectors &&
      config.axes.types != std::vector{dtype::float32}) {
    root.required("axes").fail(
        "distances between generated vectors are float32; leave out \"dtype\"");
  }
  if (const auto constraints = root.optional("constraints")) {
    config.constraints = parse_constraints(*constraints);
  }
  if (const auto exclude = root.optional("exclude")) {
    for (const node& entry : exclude->list()) config.excludes.push_back(parse_exclusion(entry));
  }
  config.algorithms = parse_algorithms(root.required("algorithms"));
  if (const auto where = root.optional("executor")) config.executors = parse_executors(*where);
  if (config.task != nullptr) config.task->check(config);
}

std::vector<std::string_view> keys_with(std::span<const std::string_view> more) {
  std::vector<std::string_view> keys(keys_of_whole.begin(), keys_of_whole.end());
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

sweep_config parse_root(const node& root, const std::string& file_name) {
  const auto parts = root.is_object() ? root.optional("parts") : std::nullopt;
  for (const std::string_view key : keys_of_part) {
    if (!parts) break;
    if (const auto beside = root.optional(key)) beside->fail("belongs into each of the parts");
  }
  constexpr std::array<std::string_view, 1> only_parts = {"parts"};
  root.require_keys(parts ? keys_with(only_parts) : keys_with(keys_of_part));
  sweep_config config = parse_whole(root, file_name);
  if (!parts) {
    parse_part(root, config);
    return config;
  }
  std::vector<sweep_config> all;
  for (const node& entry : parts->list()) {
    entry.require_keys(keys_of_part);
    all.push_back(config);
    all.back().pointer = fmt::format("/parts/{}", all.size() - 1);
    parse_part(entry, all.back());
  }
  config.parts = std::move(all);
  return config;
}

}  // namespace

sweep_config parse_config(std::string_view text, const std::string& file_name) {
  const nlohmann::json tree = parse_strict_json(text, file_name);
  return parse_root(node(tree, "", file_name), file_name);
}

sweep_config load_config(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  // Reads one byte more than allowed, enough for the parser to refuse a file that is too long.
  std::string text(longest_config + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.gcount() == 0 && !(stream.is_open() && stream.eof())) {
    throw error(failure::input,
                fmt::format("{}: cannot read the config: {}", file.string(), std::strerror(errno)));
  }
  text.resize(static_cast<std::size_t>(stream.gcount()));
  sweep_config config = parse_config(text, file.string());
  read_lengths(config);
  return config;
}

}  // namespace kselect::harness
