// `kselect select` finds the k smallest (or largest) of each row of the user's matrix.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "cli/answer_files.hpp"
#include "cli/answer_table.hpp"
#include "cli/commands.hpp"
#include "cli/ragged_rows.hpp"
#include "cli/required_order.hpp"
#include "harness/select/select_rows.hpp"
#include "runtime/available_memory.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/io/row_types.hpp"
#include "runtime/io/stream.hpp"

namespace kselect::cli {
namespace {

struct select_arguments {
  std::string algorithm = "auto";
  std::string input, values, indices, dtype;
  std::string executor = "auto";
  kselect::payload payload = payload::values_and_indices;
  std::int64_t k = 0;
  bool largest = false;
  nan_order nan = nan_order::total_order;
  requirements require;
  ragged_options ragged;
  int threads = 0;
};

payload payload_named(const std::string& name) {
  const auto found = parse<payload>(name);
  if (found && *found != payload::kth_value) return *found;
  throw error(failure::usage,
              fmt::format("--payload: {} is not values_and_indices, indices or values", name));
}

problem problem_of(const select_arguments& o, const npy_file& matrix, const algorithm& entry) {
  const std::string name = input_name(o.input);
  std::vector<std::int64_t> shape = matrix.shape();
  if (shape.size() == 1) shape.insert(shape.begin(), 1);  // one row
  if (shape.size() != 2) {
    throw error(failure::input,
                fmt::format("{}: has {}, but rows are a matrix (Q x n), or one row (n); "
                            "reshape it with numpy's .reshape(-1, n)",
                            name, amount_of(shape.size(), "dimension")));
  }
  problem p;
  p.type = row_type(name, matrix.type(), o.dtype);
  p.q = shape[0];
  p.n = shape[1];
  p.k = o.k;
  // Fortran order is the column-major layout: element (r, c) is at c * Q + r.
  if (matrix.fortran_order() && p.q != 1) p.layout = layout::column_major;
  p.direction = o.largest ? direction::largest : direction::smallest;
  p.index = preferred_index(entry);
  p.payload = o.payload;
  p.nan = o.nan;
  if (o.ragged.any()) return p;
  if (p.k > p.n) {
    throw error(failure::usage,
                fmt::format("--k {} is more than the {} columns of {}", p.k, p.n, name));
  }
  return p;
}

double value_at(dtype type, std::span<const std::byte> values, std::int64_t at) {
  const std::byte* const from = values.data() + static_cast<std::size_t>(at) * size_of(type);
  return visit_number(type, [from]<class T>(T element) -> double {
    std::memcpy(&element, from, sizeof element);
    if constexpr (dtype_traits<T>::kind == number_kind::floating && sizeof(T) < 4) {
      return static_cast<double>(to_float(element));
    } else {
      return static_cast<double>(element);
    }
  });
}

void print_head(const problem& p, const selection& chosen, output_ordering order) {
  answer_table table("row", p.has_values() ? "values" : "", p.has_indices() ? "[indices]" : "");
  for (std::int64_t row = 0; row < p.q && table.wants_more(); ++row) {
    std::vector<shown_hit> first;
    for (std::int64_t j = 0; j < std::min(p.k, answer_table::most_columns); ++j) {
      const std::int64_t at = row * p.k + j;
      shown_hit hit;
      if (p.has_values()) hit.value = value_at(p.type, chosen.values, at);
      if (p.has_indices()) hit.index = chosen.indices[static_cast<std::size_t>(at)];
      first.push_back(hit);
    }
    table.add(p.k, std::move(first));
  }
  const std::string files = p.payload == payload::values ? "--values FILE writes all of them"
                            : !p.has_values()
                                ? "--indices FILE writes all of them"
                                : "--values FILE and --indices FILE write all of them";
  const char* const sorted =
      order == output_ordering::unsorted && p.k > 1 ? "; --sorted puts the best first" : "";
  fmt::print("{}", table.text(fmt::format("{} x {}", p.q, p.k), files + sorted));
}

// An output that the payload leaves out would stay empty.
void require_in_payload(const select_arguments& o) {
  const auto refuse = [&](const char* option, bool given, payload lacking) {
    if (!given || o.payload != lacking) return;
    throw error(failure::usage, fmt::format("{} has no part in --payload {}; leave one of them out",
                                            option, to_string(lacking)));
  };
  refuse("--values", !o.values.empty(), payload::indices);
  refuse("--indices", !o.indices.empty(), payload::values);
}

// Rows of lengths of their own take any k, so that k alone decides how large the answer is.
void require_room(const problem& p) {
  const std::size_t each =
      (p.has_values() ? size_of(p.type) : 0) + (p.has_indices() ? sizeof(std::int64_t) : 0);
  // As floating point: the product may not fit 64 bits.
  const double needed =
      static_cast<double>(p.q) * static_cast<double>(p.k) * static_cast<double>(each);
  const auto there = static_cast<double>(available_memory());
  if (needed <= there || (there == 0 && needed < 0x1p62)) return;
  constexpr double gibibyte = 1 << 30;
  throw error(failure::resources,
              fmt::format("--k {}: the answer of {} needs {:.1f} GiB, and {:.1f} GiB are there; "
                          "lower --k",
                          p.k, amount_of(p.q, "row"), needed / gibibyte, there / gibibyte));
}

int select(const select_arguments& o) {
  require_in_payload(o);
  o.ragged.require_use_of_fill();
  const std::array<named_file, 7> inputs = {{{"--input", o.input, true},
                                             {"--lengths", o.ragged.lengths, true},
                                             {"--starts", o.ragged.starts, true},
                                             {"--offsets", o.ragged.offsets, true},
                                             {"--k-each", o.ragged.k_each, true},
                                             {"--map", o.ragged.map, true},
                                             {"--mask", o.ragged.mask, true}}};
  const std::array<named_file, 2> outputs = {
      {{"--values", o.values, true}, {"--indices", o.indices, true}}};
  const job_files held(inputs, outputs);
  const algorithm& entry = *require_algorithm(o.algorithm, o.require).algorithm;
  o.ragged.require_masks_of(entry);
  const auto place = open_backend(require_executor(o.executor, entry), o.threads);
  const npy_file matrix = npy_file::open_or_collect(o.input);
  problem p = problem_of(o, matrix, entry);
  std::optional<ragged_arrays> ragged;
  if (o.ragged.any()) ragged.emplace(o.ragged, p, input_name(o.input));
  require_room(p);
  const selection chosen = select_rows(entry, p, {matrix.data(), p.input_bytes()}, *place,
                                       ragged ? ragged->places() : row_places{});
  matrix.require_unchanged();
  if (ragged) ragged->require_unchanged();
  const std::array shape = {p.q, p.k};
  answer_files files;
  files.add(o.values, matrix.type(), shape, chosen.values);
  files.add(o.indices, element_type::int64, shape, std::as_bytes(std::span(chosen.indices)));
  files.commit();
  say_beside(outputs,
             fmt::format("{}: the {} {} of {}{} in each of {}, proven; order: {}\n", entry.name,
                         p.k, to_string(p.direction), p.ragged() ? "up to " : "", p.n,
                         amount_of(p.q, "row"), to_string(entry.promises.ordering)));
  if (o.values.empty() && o.indices.empty()) print_head(p, chosen, entry.promises.ordering);
  return 0;
}

}  // namespace

void add_select(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("select", "Select the k smallest of each row of a matrix (.npy)");
  const auto o = std::make_shared<select_arguments>();
  command
      ->add_option(
          "ROWS,--input", o->input,
          "matrix Q x n, or one row of n: " + row_types_of_files() + " (.npy); - is standard input")
      ->required()
      ->type_name("FILE");
  command
      ->add_option(
          "--k", o->k,
          "how many of each row, at most n; any of rows of their own lengths or under a mask")
      ->required()
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  option_output(*command, "--values", o->values, "the values, Q x k (.npy); - is standard output");
  option_output(*command, "--indices", o->indices, "the indices, int64 Q x k (.npy), or -");
  command->add_option_function<std::string>(
      "--payload", [o](const std::string& name) { o->payload = payload_named(name); },
      "values_and_indices (default), indices or values: what is selected and written");
  command
      ->add_option("--dtype", o->dtype,
                   "what the rows' bits are, if they are saved as integers: bfloat16, "
                   "float8_e4m3fn or float8_e5m2")
      ->type_name("TYPE");
  option_ragged(*command, o->ragged);
  command->add_flag("--largest", o->largest, "the k largest instead");
  option_order(*command, o->require);
  option_nan(*command, o->nan);
  option_algorithm(*command, o->algorithm);
  option_executor(*command, o->executor);
  option_threads(*command, o->threads);
  option_plugins(*command);
  command->callback([&chosen, o] { chosen = [o] { return select(*o); }; });
}

}  // namespace kselect::cli
