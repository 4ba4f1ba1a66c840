#include "harness/config/combinations.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "harness/config/node.hpp"
#include "runtime/format.hpp"

namespace kselect::harness {
namespace {

// Exceeds the elements of any real input. Sizes in bytes then fit std::int64_t easily.
constexpr std::int64_t largest_input = std::int64_t{1} << 56;

[[noreturn]] void fail(const sweep_config& config, std::string_view pointer,
                       std::string_view what) {
  throw config_error(config.file_name, config.pointer + std::string(pointer), what);
}

std::string shape_of(const workload& p) {
  return fmt::format("n = {}, q = {}, k = {}", p.n, p.q, p.k);
}

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

// The shapes in their order. Consecutive shapes on the same rows become one entry. `k` holds the
// values of all.
std::vector<rows_to_try> listed_shapes(const sweep_axes& axes, std::vector<std::int64_t>& k) {
  for (const auto& shape : axes.shapes) k.push_back(shape.k);
  std::vector<rows_to_try> rows;
  for (std::size_t i = 0; i < axes.shapes.size(); ++i) {
    const auto& shape = axes.shapes[i];
    if (rows.empty() || rows.back().n != shape.n || rows.back().q != shape.q) {
      rows.push_back({shape.n, shape.q, {&k[i], 0}});
    }
    rows.back().k = {rows.back().k.data(), rows.back().k.size() + 1};
  }
  return rows;
}

template <class T>
bool agrees(const std::optional<T>& wanted, const T& value) {
  return !wanted || *wanted == value;
}

template <class T, class List>
bool agrees_with_one(const std::optional<T>& wanted, const List& values) {
  return !wanted || std::ranges::find(values, *wanted) != values.end();
}

bool matches(const exclusion& e, const workload& p) {
  return agrees(e.n, p.n) && agrees(e.q, p.q) && agrees(e.k, p.k) && agrees(e.type, p.type) &&
         agrees(e.payload, p.payload) && agrees(e.direction, p.direction) &&
         agrees(e.layout, p.layout) && agrees(e.index, p.index) &&
         agrees(e.distribution, p.distribution);
}

// Moves an index on. True if it was the last and is now the first again.
template <class Index>
bool wraps(Index& at, Index size) {
  if (++at < size) return false;
  at = 0;
  return true;
}

}  // namespace

combinations::combinations(const sweep_config& config, std::optional<dataset_sizes> dataset)
    : config_(config),
      dataset_(std::get_if<dataset_input>(&config.input)),
      file_(std::get_if<rows_input>(&config.input)),
      most_(dataset.value_or(dataset_sizes{})) {
  const bool sized = origin_of(config.input) != rows_origin::generator;
  if (sized != dataset.has_value()) {
    fail(config, "/input",
         sized ? "the sizes of its files are not known yet"
               : "the rows are generated, there is no dataset");
  }
  if (file_ != nullptr) require_type_of_file();
  if (dataset_ != nullptr && dataset_->exclude_self) {
    most_.base = std::max<std::int64_t>(most_.base - 1, 0);
  }
  if (config.axes.shapes.empty()) {
    lengths_ = resolved(config, "/axes/n", config.axes.n, most_.base);
    counts_ = resolved(config, "/axes/q", config.axes.q, most_.queries);
  } else {
    shape_k_.reserve(config.axes.shapes.size());
    listed_ = listed_shapes(config.axes, shape_k_);
  }
  require_no_idle_exclusion();
}

bool combinations::is_grid() const { return !lengths_.empty() && !counts_.empty(); }

std::int64_t combinations::rows() const {
  if (!listed_.empty()) return std::ssize(listed_);
  return is_grid() ? std::ssize(lengths_) * std::ssize(counts_)
                   : std::max(std::ssize(lengths_), std::ssize(counts_));
}

rows_to_try combinations::row(std::int64_t number) const {
  const auto at = static_cast<std::size_t>(number);
  if (!listed_.empty()) return listed_[at];
  const sweep_axes& axes = config_.axes;
  if (is_grid()) return {lengths_[at / counts_.size()], counts_[at % counts_.size()], axes.k};
  if (counts_.empty()) return {lengths_[at], *axes.n_times_q / lengths_[at], axes.k};
  return {*axes.n_times_q / counts_[at], counts_[at], axes.k};
}

std::span<const index_type> combinations::indices(payload p) const {
  static constexpr index_type no_indices[] = {problem{}.index};
  workload with;
  with.payload = p;
  return with.has_indices() ? std::span<const index_type>(config_.axes.indices)
                            : std::span<const index_type>(no_indices);
}

bool combinations::is_excluded(const workload& p) const {
  return std::ranges::any_of(config_.excludes, [&](const exclusion& e) { return matches(e, p); });
}

bool combinations::fulfils_constraints(const workload& p) const {
  for (std::size_t i = 0; i < config_.constraints.size(); ++i) {
    try {
      if (!config_.constraints[i].holds(p.n, p.q, p.k)) return false;
    } catch (const error& why) {
      fail(config_, fmt::format("/constraints/{}", i), why.what());
    }
  }
  return true;
}

void combinations::check_possible(const workload& p) const {
  check_size(p);
  if (p.row_lengths.kind == length_kind::file) check_lengths(p);
  if (dataset_ != nullptr) check_dataset(p);
  if (file_ != nullptr) check_rows(p);
}

void combinations::check_size(const workload& p) const {
  // An empty problem selects nothing, so any k is possible.
  if (p.n == 0 || p.q == 0) return;
  if (p.q > largest_input / p.n) {
    fail(config_, "/axes",
         fmt::format("n * q is beyond 2^56 at {}; add a constraint such as \"n*q <= 2^32\"",
                     shape_of(p)));
  }
  if (p.lengths != row_numbers::none && p.n > std::numeric_limits<std::int32_t>::max()) {
    fail(config_, "/axes/lengths",
         fmt::format("n is beyond 2^31 - 1 at {}, and lengths are int32; add the constraint "
                     "\"n < 2^31\"",
                     shape_of(p)));
  }
  if (p.k > p.n) {
    fail(config_, "/axes/k",
         fmt::format("k > n at {}; add the constraint \"k <= n\" to leave such combinations out",
                     shape_of(p)));
  }
}

void combinations::check_lengths(const workload& p) const {
  const length_file& from = *p.row_lengths.from;
  const auto count = std::ssize(from.numbers);
  if (count < p.q) {
    fail(config_, "/axes/lengths",
         fmt::format("{} has {}, fewer than the rows at {}", from.written,
                     runtime::amount_of(count, "length"), shape_of(p)));
  }
  const auto end = from.numbers.begin() + p.q;
  const auto longest = std::max_element(from.numbers.begin(), end);
  if (longest == end || *longest <= p.n) return;
  fail(config_, "/axes/lengths",
       fmt::format("{}: row {} has length {}, more than n at {}", from.written,
                   longest - from.numbers.begin(), *longest, shape_of(p)));
}

void combinations::check_dataset(const workload& p) const {
  if (p.n > most_.base) {
    fail(config_, "/axes/n",
         fmt::format("n = {} is more than the {} of the dataset{}", p.n,
                     runtime::amount_of(most_.base, "candidate"),
                     dataset_->exclude_self ? ", the query itself left out" : ""));
  }
  if (p.q > most_.queries) {
    fail(config_, "/axes/q",
         fmt::format("q = {} is more than the dataset's {}", p.q,
                     runtime::amount_of(most_.queries, "query")));
  }
  // A query can be left out only if it is among the candidates.
  if (dataset_->exclude_self && p.q > p.n + 1) {
    fail(config_, "/axes/q",
         fmt::format("q > n + 1 at {}, but with \"exclude_self\" the queries are "
                     "among the first n + 1 base vectors; add the constraint "
                     "\"q <= n + 1\"",
                     shape_of(p)));
  }
}

void combinations::require_type_of_file() const {
  for (const dtype type : config_.axes.types) {
    if (!most_.type || type == *most_.type) continue;
    fail(config_, "/axes/dtype",
         fmt::format("{} is not what {} holds; write \"dtype\": \"{}\"", to_string(type),
                     file_->file, to_string(*most_.type)));
  }
}

void combinations::check_rows(const workload& p) const {
  if (p.n > most_.base) {
    fail(config_, "/axes/n",
         fmt::format("n = {} is more than the {} of {}", p.n,
                     runtime::amount_of(most_.base, "column"), file_->file));
  }
  if (p.q > most_.queries) {
    fail(config_, "/axes/q",
         fmt::format("q = {} is more than the {} of {}", p.q,
                     runtime::amount_of(most_.queries, "row"), file_->file));
  }
}

// Whether an exclusion matches a combination, even one that violates a constraint.
bool combinations::matches_any(const exclusion& e) const {
  const sweep_axes& axes = config_.axes;
  const bool indices_agree = std::ranges::any_of(axes.payloads, [&](payload p) {
    return agrees(e.payload, p) && agrees_with_one(e.index, indices(p));
  });
  if (!indices_agree || !agrees_with_one(e.type, axes.types) ||
      !agrees_with_one(e.direction, axes.directions) || !agrees_with_one(e.layout, axes.layouts) ||
      !agrees_with_one(e.distribution, axes.distributions)) {
    return false;
  }
  if (is_grid()) {
    return agrees_with_one(e.n, lengths_) && agrees_with_one(e.q, counts_) &&
           agrees_with_one(e.k, axes.k);
  }
  for (std::int64_t i = 0; i < rows(); ++i) {
    const rows_to_try r = row(i);
    if (agrees(e.n, r.n) && agrees(e.q, r.q) && agrees_with_one(e.k, r.k)) return true;
  }
  return false;
}

void combinations::require_no_idle_exclusion() const {
  for (std::size_t i = 0; i < config_.excludes.size(); ++i) {
    if (matches_any(config_.excludes[i])) continue;
    fail(config_, fmt::format("/exclude/{}", i), "matches no combination of the axes");
  }
}

combinations::walk::walk(const combinations& all) : all_(all), row_(all.row(0)) {
  at_.seed = all.config_.seed;
}

// From the innermost axis to the outermost. False after the last combination.
bool combinations::walk::advance() {
  const sweep_axes& axes = all_.config_.axes;
  if (!begun_) return begun_ = true;
  if (!wraps(k_, row_.k.size()) || !wraps(index_, all_.indices(at_.payload).size()) ||
      !wraps(payload_, axes.payloads.size()) || !wraps(direction_, axes.directions.size())) {
    return true;
  }
  const bool last_row = wraps(row_number_, all_.rows());
  row_ = all_.row(row_number_);
  return !last_row || !wraps(layout_, axes.layouts.size()) || !wraps(mask_, axes.masks.size()) ||
         !wraps(row_lengths_, axes.row_lengths.size()) || !wraps(nan_, axes.nans.size()) ||
         !wraps(distribution_, axes.distributions.size()) || !wraps(type_, axes.types.size());
}

const workload* combinations::walk::next() {
  const sweep_axes& axes = all_.config_.axes;
  while (advance()) {
    at_.type = axes.types[type_];
    at_.distribution = axes.distributions[distribution_];
    at_.give_lengths(axes.row_lengths[row_lengths_]);
    at_.nan = axes.nans[nan_];
    at_.layout = axes.layouts[layout_];
    at_.n = row_.n;
    at_.q = row_.q;
    at_.give_mask(axes.masks[mask_]);
    at_.direction = axes.directions[direction_];
    at_.payload = axes.payloads[payload_];
    at_.index = all_.indices(at_.payload)[index_];
    at_.k = row_.k[k_];
    if (all_.is_excluded(at_) || !all_.fulfils_constraints(at_)) continue;
    all_.check_possible(at_);
    return &at_;
  }
  return nullptr;
}

std::vector<workload> expand(const sweep_config& config, std::optional<dataset_sizes> dataset) {
  const combinations all(config, dataset);
  combinations::walk walk(all);
  std::vector<workload> problems;
  while (const workload* const p = walk.next()) problems.push_back(*p);
  if (problems.empty()) require_some(config, 0);
  return problems;
}

void require_some(const sweep_config& config, std::int64_t combinations) {
  if (combinations != 0) return;
  fail(config, "/axes", "nothing is left: every combination violates a constraint or is excluded");
}

}  // namespace kselect::harness
