// An axis is one value, a range, or a list of both; here it becomes a plain list. A repeated value
// is an error: it is a mistake, and records would hold the same cell twice.

#include "harness/config/axes.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "harness/config/json_text.hpp"

namespace kselect::harness {
namespace {

constexpr std::string_view all = "all";
constexpr std::int64_t largest_exponent = 40;
static_assert(std::int64_t{1} << largest_exponent == largest_size);

std::string shown(std::int64_t value) { return std::to_string(value); }
std::string shown(const extent& value) { return value ? shown(*value) : in_quotes(all); }
std::string shown(const sweep_axes::shape& value) {
  return fmt::format("[{}, {}, {}]", value.n, value.q, value.k);
}
std::string shown(const distribution& value) { return to_string(value); }
std::string shown(const row_lengths& value) { return to_string(value); }
std::string shown(const drawn_mask& value) { return to_string(value); }
template <named_enum Enum>
std::string shown(Enum value) {
  return std::string(to_string(value));
}

template <class T>
void append_unique(std::vector<T>& values, const T& value, const node& at) {
  if (std::ranges::find(values, value) != values.end()) {
    at.fail(fmt::format("repeats the value {}", shown(value)));
  }
  if (values.size() == longest_list) at.fail(fmt::format("more than {} values", longest_list));
  values.push_back(value);
}

// The values of {"pow2": [first exponent, last exponent, optional step]}.
std::vector<std::int64_t> powers_of_two(const node& range) {
  constexpr std::array<std::string_view, 1> keys = {"pow2"};
  range.require_keys(keys);
  const node exponents = range.required("pow2");
  const auto parts = exponents.list();
  if (parts.size() != 2 && parts.size() != 3) {
    exponents.fail("must be [first exponent, last exponent] or [first, last, step]");
  }
  const auto first = parts[0].integer(0, largest_exponent);
  const auto last = parts[1].integer(0, largest_exponent);
  const auto step = parts.size() == 3 ? parts[2].integer(1, largest_exponent) : 1;
  if (first > last) {
    exponents.fail(fmt::format("first exponent {} is greater than the last, {}", first, last));
  }
  std::vector<std::int64_t> values;
  for (auto exponent = first; exponent <= last; exponent += step) {
    values.push_back(std::int64_t{1} << exponent);
  }
  return values;
}

// The values of n, q or k. `all_allowed`: whether "all" is valid here; null for k, which lacks it.
std::vector<extent> sizes(const node& axis, std::int64_t low, const bool* all_allowed) {
  std::vector<extent> values;
  for (const node& entry : axis.list_or_single()) {
    if (entry.is_object()) {
      for (const std::int64_t value : powers_of_two(entry)) {
        append_unique(values, extent{value}, entry);
      }
    } else if (all_allowed != nullptr && entry.is_string() && entry.string() == all) {
      if (!*all_allowed) entry.fail("\"all\" needs /input/dataset or /input/rows");
      append_unique(values, extent{}, entry);
    } else {
      append_unique(values, extent{entry.size(low, largest_size)}, entry);
    }
  }
  return values;
}

distribution parse_distribution_at(const node& at) {
  const std::string& text = at.string();
  if (const auto parsed = parse_distribution(text)) return *parsed;
  std::vector<std::string_view> valid;
  for (const auto& entry : names<distribution_kind>) {
    if (entry.value != distribution_kind::external) valid.push_back(entry.name);
  }
  const std::string_view kind = std::string_view(text).substr(0, text.find('('));
  if (std::ranges::find(valid, kind) == valid.end()) at.fail_unknown("distribution", kind, valid);
  const auto range = parameter_of(*parse<distribution_kind>(kind));
  at.fail(range ? fmt::format("{}: {} takes one number between {} and {}, as {}({})",
                              in_quotes(text), kind, range->low, range->high, kind, range->preset)
                : fmt::format("{}: {} takes no parameter", in_quotes(text), kind));
}

template <class Enum>
void read_enum_axis(const node& axes, std::string_view key, std::vector<Enum>& values) {
  const auto axis = axes.optional(key);
  if (!axis) return;
  values.clear();
  for (const node& entry : axis->list_or_single()) {
    append_unique(values, entry.enumerator<Enum>(key), entry);
  }
}

void read_distributions(const node& axes, rows_origin from, std::vector<distribution>& values) {
  const auto axis = axes.optional("distribution");
  if (from != rows_origin::generator) {
    if (axis) {
      axis->fail(from == rows_origin::dataset
                     ? "must not be given: the rows come from /input/dataset"
                     : "must not be given: the rows come from /input/rows");
    }
    values = {{distribution_kind::external, 0}};
    return;
  }
  if (!axis) return;
  values.clear();
  for (const node& entry : axis->list_or_single()) {
    append_unique(values, parse_distribution_at(entry), entry);
  }
}

void read_row_lengths(const node& axes, std::vector<row_lengths>& values) {
  const auto axis = axes.optional("lengths");
  if (!axis) return;
  values.clear();
  for (const node& entry : axis->list_or_single()) {
    if (entry.is_object()) {
      constexpr std::array<std::string_view, 1> keys = {"file"};
      entry.require_keys(keys);
      length_file from{.written = entry.required("file").path()};
      append_unique(
          values,
          {.kind = length_kind::file, .from = std::make_shared<const length_file>(std::move(from))},
          entry);
      continue;
    }
    const auto parsed = parse_row_lengths(entry.string());
    if (!parsed) {
      entry.fail(fmt::format(
          "{} is not equal, uniform, zipf(0 to 8), two_sizes(0 to 1) or {{\"file\": \"L.npy\"}}",
          in_quotes(entry.string())));
    }
    append_unique(values, *parsed, entry);
  }
}

void read_masks(const node& axes, std::vector<drawn_mask>& values) {
  const auto axis = axes.optional("masks");
  if (!axis) return;
  values.clear();
  for (const node& entry : axis->list_or_single()) {
    const std::string& text = entry.string();
    if (const auto parsed = parse_drawn_mask(text)) {
      append_unique(values, *parsed, entry);
      continue;
    }
    std::vector<std::string_view> valid;
    for (const auto& each : names<mask_bits>) valid.push_back(each.name);
    const std::string_view kind = std::string_view(text).substr(0, text.find('('));
    if (std::ranges::find(valid, kind) == valid.end()) entry.fail_unknown("mask", kind, valid);
    entry.fail(kind == to_string(mask_bits::none)
                   ? fmt::format("{}: none takes no share", in_quotes(text))
                   : fmt::format("{}: {} takes the share of elements that are admitted, more than "
                                 "0 and at most 1, as {}(0.1)",
                                 in_quotes(text), kind, kind));
  }
}

void read_selection_axes(const node& axes, rows_origin from, sweep_axes& parsed) {
  read_enum_axis(axes, "dtype", parsed.types);
  if (from == rows_origin::dataset && parsed.types != std::vector{dtype::float32}) {
    axes.required("dtype").fail("must be float32: so are the distances of /input/dataset");
  }
  read_enum_axis(axes, "payload", parsed.payloads);
  read_enum_axis(axes, "direction", parsed.directions);
  read_enum_axis(axes, "layout", parsed.layouts);
  read_enum_axis(axes, "index", parsed.indices);
  read_row_lengths(axes, parsed.row_lengths);
  read_masks(axes, parsed.masks);
  read_enum_axis(axes, "nan", parsed.nans);
}

// n_times_q fixes the product. Either n or q is given and must divide it.
void check_product(const node& axes, const node& product, const sweep_axes& parsed) {
  if (parsed.n.empty() == parsed.q.empty()) {
    product.fail("give exactly one of n and q beside it; the other is derived");
  }
  const bool by_n = parsed.q.empty();
  const std::string_view given = by_n ? "n" : "q";
  for (const extent& value : by_n ? parsed.n : parsed.q) {
    const node axis = axes.required(given);
    if (!value) axis.fail("\"all\" cannot stand beside n_times_q");
    if (*value == 0) axis.fail(fmt::format("{} = 0 cannot stand beside n_times_q", given));
    if (*parsed.n_times_q % *value != 0) {
      axis.fail(
          fmt::format("{} = {} does not divide n_times_q = {}", given, *value, *parsed.n_times_q));
    }
  }
}

// Reads "shapes", a list of [n, q, k].
std::vector<sweep_axes::shape> parse_shapes(const node& axes, const node& shapes) {
  for (const std::string_view key : {"n", "q", "n_times_q", "k"}) {
    if (axes.optional(key)) {
      shapes.fail(fmt::format("{} cannot stand beside it; give either", in_quotes(key)));
    }
  }
  std::vector<sweep_axes::shape> parsed;
  for (const node& entry : shapes.list()) {
    const auto sizes = entry.list();
    if (sizes.size() != 3) entry.fail("must be [n, q, k]");
    append_unique(parsed,
                  {sizes[0].size(0, largest_size), sizes[1].size(0, largest_size),
                   sizes[2].size(1, largest_size)},
                  entry);
  }
  return parsed;
}

// The combinations of the task's own axes, of which there are few (own_axes.cpp).
std::size_t own_settings(const sweep_axes& parsed) {
  std::size_t count = 1;
  for (const axis_values& own : parsed.own) count *= own.values.size();
  return count;
}

void check_count(const node& axes, const sweep_axes& parsed) {
  std::int64_t count = 1;
  // No list is longer than longest_list, so this check comes before the product can overflow.
  for (const std::size_t values :
       {std::max<std::size_t>(parsed.n.size(), 1), std::max<std::size_t>(parsed.q.size(), 1),
        std::max<std::size_t>(parsed.k.size(), 1), std::max<std::size_t>(parsed.shapes.size(), 1),
        parsed.types.size(), parsed.payloads.size(), parsed.directions.size(),
        parsed.layouts.size(), parsed.indices.size(), parsed.distributions.size(),
        parsed.row_lengths.size(), parsed.masks.size(), parsed.nans.size(), own_settings(parsed)}) {
    count *= static_cast<std::int64_t>(values);
    if (count > largest_sweep) {
      axes.fail(
          fmt::format("the axes span more than {} combinations; shorten some, or split the "
                      "sweep into several configs",
                      largest_sweep));
    }
  }
}

template <class Enum>
void read_enum(const node& where, std::string_view key, std::optional<Enum>& value) {
  if (const auto given = where.optional(key)) value = given->enumerator<Enum>(key);
}

}  // namespace

sweep_axes parse_axes(const node& axes, rows_origin from, const task* of) {
  std::vector<std::string_view> keys = {"n", "q", "n_times_q", "k", "shapes"};
  if (of == nullptr) {
    keys.insert(keys.end(),
                {"dtype", "payload", "direction", "layout", "index", "lengths", "masks", "nan"});
  } else {
    for (const task_axis& own : of->axes()) keys.push_back(own.name);
  }
  keys.push_back("distribution");
  axes.require_keys(keys);
  const bool all_known = from != rows_origin::generator;
  sweep_axes parsed;
  if (const auto shapes = axes.optional("shapes")) {
    parsed.shapes = parse_shapes(axes, *shapes);
  } else if (const auto product = axes.optional("n_times_q")) {
    parsed.n_times_q = product->size(1, largest_size);
    if (const auto n = axes.optional("n")) parsed.n = sizes(*n, 0, &all_known);
    if (const auto q = axes.optional("q")) parsed.q = sizes(*q, 0, &all_known);
    check_product(axes, *product, parsed);
  } else {
    parsed.n = sizes(axes.required("n"), 0, &all_known);
    parsed.q = sizes(axes.required("q"), 0, &all_known);
  }
  if (parsed.shapes.empty()) {
    for (const extent& k : sizes(axes.required("k"), 1, nullptr)) parsed.k.push_back(*k);
  }
  if (of == nullptr) {
    read_selection_axes(axes, from, parsed);
  } else {
    parsed.own = parse_own_axes(axes, *of);
  }
  read_distributions(axes, from, parsed.distributions);
  check_count(axes, parsed);
  return parsed;
}

exclusion parse_exclusion(const node& where) {
  constexpr std::array<std::string_view, 9> keys = {
      "n", "q", "k", "dtype", "payload", "direction", "layout", "index", "distribution"};
  where.require_keys(keys);
  exclusion parsed;
  if (const auto n = where.optional("n")) parsed.n = n->size(0, largest_size);
  if (const auto q = where.optional("q")) parsed.q = q->size(0, largest_size);
  if (const auto k = where.optional("k")) parsed.k = k->size(1, largest_size);
  read_enum(where, "dtype", parsed.type);
  read_enum(where, "payload", parsed.payload);
  read_enum(where, "direction", parsed.direction);
  read_enum(where, "layout", parsed.layout);
  read_enum(where, "index", parsed.index);
  if (const auto d = where.optional("distribution")) {
    parsed.distribution = parse_distribution_at(*d);
  }
  if (parsed == exclusion{}) where.fail("excludes everything; name at least one axis");
  return parsed;
}

}  // namespace kselect::harness
