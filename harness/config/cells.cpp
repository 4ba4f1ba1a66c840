// Visits every combination, including those left out, so that a mistake in a constraint or an
// exclusion is found wherever it is.

#include "harness/config/cells.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

// Exceeds the elements of any real input. Sizes in bytes then fit std::int64_t easily.
constexpr std::int64_t largest_input = std::int64_t{1} << 56;

[[noreturn]] void fail(const sweep_config& config, std::string_view pointer,
                       std::string_view what) {
  throw error(failure::usage, fmt::format("{}: {}: {}", config.file_name, pointer, what));
}

std::string cell(const workload& p) { return fmt::format("n = {}, q = {}, k = {}", p.n, p.q, p.k); }

// Replaces "all" by its number. Fails if the axis then has a value twice.
std::vector<std::int64_t> resolved(const sweep_config& config, std::string_view pointer,
                                   const std::vector<extent>& axis, std::int64_t all) {
  std::vector<std::int64_t> values;
  for (const extent& entry : axis) {
    const std::int64_t value = entry.value_or(all);
    if (std::ranges::find(values, value) != values.end()) {
      fail(config, pointer, fmt::format("\"all\" is {}, which the list holds already", value));
    }
    values.push_back(value);
  }
  return values;
}

// Rows, and the values of k to select from them.
struct rows_to_try {
  std::int64_t n, q;
  std::vector<std::int64_t> k;
};

// The shapes in their order. Consecutive shapes on the same rows become one entry.
std::vector<rows_to_try> listed_shapes(const sweep_axes& axes) {
  std::vector<rows_to_try> rows;
  for (const auto& [n, q, k] : axes.shapes) {
    if (rows.empty() || rows.back().n != n || rows.back().q != q) rows.push_back({n, q, {}});
    rows.back().k.push_back(k);
  }
  return rows;
}

std::vector<rows_to_try> shapes(const sweep_config& config, const dataset_sizes& all) {
  const sweep_axes& axes = config.axes;
  if (!axes.shapes.empty()) return listed_shapes(axes);
  const auto lengths = resolved(config, "/axes/n", axes.n, all.base);
  const auto counts = resolved(config, "/axes/q", axes.q, all.queries);
  std::vector<rows_to_try> rows;
  for (const std::int64_t n : lengths) {
    if (counts.empty()) rows.push_back({n, *axes.n_times_q / n, axes.k});
    for (const std::int64_t q : counts) rows.push_back({n, q, axes.k});
  }
  if (lengths.empty()) {
    for (const std::int64_t q : counts) rows.push_back({*axes.n_times_q / q, q, axes.k});
  }
  return rows;
}

// Calls visit(problem) for every combination of the axes, in the documented order.
template <class Visit>
void for_each_combination(const sweep_config& config, const dataset_sizes& all, Visit visit) {
  const sweep_axes& axes = config.axes;
  const auto all_rows = shapes(config, all);
  // Without indices the index type has no effect: its values would give the same problem.
  const std::vector<index_type> no_indices = {problem{}.index};
  workload p;
  p.seed = config.seed;
  const auto answers = [&](const std::vector<std::int64_t>& counts) {
    for (const auto direction : axes.directions) {
      p.direction = direction;
      for (const auto payload : axes.payloads) {
        p.payload = payload;
        for (const auto index : p.has_indices() ? axes.indices : no_indices) {
          p.index = index;
          for (const auto k : counts) {
            p.k = k;
            visit(std::as_const(p));
          }
        }
      }
    }
  };
  for (const auto type : axes.types) {
    p.type = type;
    for (const auto& distribution : axes.distributions) {
      p.distribution = distribution;
      for (const auto layout : axes.layouts) {
        p.layout = layout;
        for (const auto& [n, q, counts] : all_rows) {
          p.n = n;
          p.q = q;
          answers(counts);
        }
      }
    }
  }
}

template <class T>
bool agrees(const std::optional<T>& wanted, const T& value) {
  return !wanted || *wanted == value;
}

bool matches(const exclusion& e, const workload& p) {
  return agrees(e.n, p.n) && agrees(e.q, p.q) && agrees(e.k, p.k) && agrees(e.type, p.type) &&
         agrees(e.payload, p.payload) && agrees(e.direction, p.direction) &&
         agrees(e.layout, p.layout) && agrees(e.index, p.index) &&
         agrees(e.distribution, p.distribution);
}

bool fulfils_constraints(const sweep_config& config, const workload& p) {
  for (std::size_t i = 0; i < config.constraints.size(); ++i) {
    try {
      if (!config.constraints[i].holds(p.n, p.q, p.k)) return false;
    } catch (const error& why) {
      fail(config, fmt::format("/constraints/{}", i), why.what());
    }
  }
  return true;
}

void check_possible(const sweep_config& config, const workload& p) {
  // An empty problem selects nothing, so any k is possible.
  if (p.n == 0 || p.q == 0) return;
  if (p.q > largest_input / p.n) {
    fail(config, "/axes",
         fmt::format("n * q is beyond 2^56 at {}; add a constraint such as "
                     "\"n*q <= 2^32\"",
                     cell(p)));
  }
  if (p.k > p.n) {
    fail(config, "/axes/k",
         fmt::format("k > n at {}; add the constraint \"k <= n\" to leave such "
                     "combinations out",
                     cell(p)));
  }
}

// `most`: the longest possible row and the largest possible number of queries.
void check_dataset(const sweep_config& config, const dataset_input& input,
                   const dataset_sizes& most, const workload& p) {
  if (p.n > most.base) {
    fail(config, "/axes/n",
         fmt::format("n = {} is more than the {} candidates of the dataset{}", p.n, most.base,
                     input.exclude_self ? ", the query itself left out" : ""));
  }
  if (p.q > most.queries) {
    fail(config, "/axes/q",
         fmt::format("q = {} is more than the dataset's {} queries", p.q, most.queries));
  }
  // A query can be left out only if it is among the candidates.
  if (input.exclude_self && p.q > p.n + 1) {
    fail(config, "/axes/q",
         fmt::format("q > n + 1 at {}, but with \"exclude_self\" the queries are "
                     "among the first n + 1 base vectors; add the constraint "
                     "\"q <= n + 1\"",
                     cell(p)));
  }
}

}  // namespace

std::vector<workload> expand(const sweep_config& config, std::optional<dataset_sizes> dataset) {
  const auto* const input = std::get_if<dataset_input>(&config.input);
  if ((input != nullptr) != dataset.has_value()) {
    fail(config, "/input",
         input != nullptr ? "the dataset's sizes are not known yet"
                          : "the rows are generated, there is no dataset");
  }
  dataset_sizes most = dataset.value_or(dataset_sizes{});
  if (input != nullptr && input->exclude_self) most.base = std::max<std::int64_t>(most.base - 1, 0);
  std::vector<workload> problems;
  std::vector<bool> used(config.excludes.size(), false);
  for_each_combination(config, most, [&](const workload& p) {
    bool excluded = false;
    for (std::size_t i = 0; i < config.excludes.size(); ++i) {
      if (!matches(config.excludes[i], p)) continue;
      excluded = true;
      used[i] = true;
    }
    if (excluded || !fulfils_constraints(config, p)) return;
    check_possible(config, p);
    if (input != nullptr) check_dataset(config, *input, most, p);
    problems.push_back(p);
  });
  if (const auto idle = std::ranges::find(used, false); idle != used.end()) {
    fail(config, fmt::format("/exclude/{}", idle - used.begin()),
         "matches no combination of the axes");
  }
  if (problems.empty()) {
    fail(config, "/axes",
         "nothing is left: every combination violates a constraint or is excluded");
  }
  return problems;
}

}  // namespace kselect::harness
