// `kselect select` finds the k smallest (or largest) of each row of the user's matrix.

#include <array>
#include <span>

#include <fmt/format.h>

#include "cli/answer_files.hpp"
#include "cli/commands.hpp"
#include "cli/required_order.hpp"
#include "harness/select/select_rows.hpp"
#include "runtime/error.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/io/npy.hpp"

namespace kselect::cli {
namespace {

struct select_arguments {
  std::string algorithm = "auto";
  std::string input, values, indices;
  std::string executor = "auto";
  std::int64_t k = 0;
  bool largest = false;
  requirements require;
  int threads = 0;
};

problem problem_of(const select_arguments& o, const npy_file& matrix, const algorithm& entry) {
  const auto& shape = matrix.shape();
  if (shape.size() != 2) {
    throw error(failure::input, fmt::format("{}: has {} dimensions, but rows are a matrix (Q x n)",
                                            o.input, shape.size()));
  }
  problem p;
  const auto type = parse<dtype>(to_string(matrix.type()));
  if (!type) {
    throw error(failure::input,
                fmt::format("{}: holds {}, but rows must be float16, float32 or float64; convert "
                            "it with numpy's .astype(numpy.float32)",
                            o.input, to_string(matrix.type())));
  }
  p.type = *type;
  p.q = shape[0];
  p.n = shape[1];
  p.k = o.k;
  // Fortran order is the column-major layout: element (r, c) is at c * Q + r.
  if (matrix.fortran_order()) p.layout = layout::column_major;
  p.direction = o.largest ? direction::largest : direction::smallest;
  p.index = preferred_index(entry);
  p.payload = payload::values_and_indices;
  if (p.k > p.n && p.n != 0) {
    throw error(failure::usage,
                fmt::format("--k {} is more than the {} columns of {}", p.k, p.n, o.input));
  }
  if (p.n == 0) p.k = 0;
  return p;
}

int select(const select_arguments& o) {
  const std::array<named_file, 1> inputs = {{{"--input", o.input}}};
  const std::array<named_file, 2> outputs = {{{"--values", o.values}, {"--indices", o.indices}}};
  const job_files held(inputs, outputs);
  const algorithm& entry = *require_algorithm(o.algorithm, o.require).algorithm;
  const auto place = open_backend(require_executor(o.executor, entry), o.threads);
  const npy_file matrix = npy_file::open(o.input);
  const problem p = problem_of(o, matrix, entry);
  const selection chosen = select_rows(entry, p, {matrix.data(), p.input_bytes()}, *place);
  matrix.require_unchanged();
  const std::array shape = {p.q, p.k};
  answer_files files;
  files.add(o.values, matrix.type(), shape, chosen.values);
  files.add(o.indices, element_type::int64, shape, std::as_bytes(std::span(chosen.indices)));
  files.commit();
  fmt::print("{}: the {} {} of {} in each of {} rows, proven; order: {}\n", entry.name, p.k,
             to_string(p.direction), p.n, p.q, to_string(entry.promises.ordering));
  return 0;
}

}  // namespace

void add_select(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("select", "Select the k smallest of each row of a matrix (.npy)");
  const auto o = std::make_shared<select_arguments>();
  command->add_option("--algorithm", o->algorithm, "name from `kselect list`")
      ->capture_default_str();
  command->add_option("--input", o->input, "matrix Q x n, float16, float32 or float64 (.npy)")
      ->required();
  command->add_option("--k", o->k, "how many of each row, 1 <= k <= n")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option("--values", o->values, "where to write the values, Q x k (.npy)");
  command->add_option("--indices", o->indices, "where to write the indices, int64 Q x k (.npy)");
  command->add_flag("--largest", o->largest, "the k largest instead");
  option_order(*command, o->require);
  option_executor(*command, o->executor);
  option_threads(*command, o->threads);
  command->callback([&chosen, o] { chosen = [o] { return select(*o); }; });
}

}  // namespace kselect::cli
