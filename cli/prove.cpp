// `kselect prove` checks the certificate of an answer that another program gave: of equal rows, of
// rows of lengths of their own, or of what a mask admits.

#include <array>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/ragged_rows.hpp"
#include "cli/required_order.hpp"
#include "harness/verify/certificate.hpp"
#include "runtime/backend/host_backend.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/io/row_types.hpp"
#include "runtime/io/stream.hpp"

namespace kselect::cli {
namespace {

struct prove_arguments {
  std::string rows, values, indices, dtype;
  std::int64_t k = 0;
  bool largest = false, sorted = false, stable = false, bfloat16 = false;
  nan_order nan = nan_order::total_order;
  ragged_options ragged;
  int threads = 0;
};

// A matrix, or one row.
npy_file open_matrix(const std::string& name) {
  npy_file file = npy_file::open_or_collect(name);
  if (file.shape().empty() || file.shape().size() > 2) {
    throw error(failure::input,
                fmt::format("{}: has {}, but a matrix (Q x n), or one row (n), is "
                            "needed; reshape it with numpy's .reshape(Q, -1)",
                            input_name(name), amount_of(file.shape().size(), "dimension")));
  }
  return file;
}

std::int64_t rows_in(const npy_file& file) {
  return file.shape().size() == 1 ? 1 : file.shape()[0];
}
std::int64_t columns_in(const npy_file& file) { return file.shape().back(); }
// The bytes of one row are the same in both orders.
bool by_columns(const npy_file& file) { return file.fortran_order() && rows_in(file) != 1; }

// An answer must be Q x k, in C order.
void require_shape(const std::string& name, const npy_file& file, const problem& p) {
  if (rows_in(file) != p.q || columns_in(file) != p.k) {
    throw error(failure::input, fmt::format("{}: is {} x {}, but an answer of {} and k = {} "
                                            "is needed",
                                            input_name(name), rows_in(file), columns_in(file),
                                            amount_of(p.q, "row"), p.k));
  }
  if (by_columns(file)) {
    throw error(failure::input, fmt::format("{}: is in Fortran order; convert it with numpy's "
                                            "ascontiguousarray",
                                            input_name(name)));
  }
}

dtype type_of(const prove_arguments& o, const npy_file& rows) {
  const std::string name = input_name(o.rows);
  if (o.bfloat16) return row_type(name, rows.type(), to_string(dtype::bfloat16));
  if (o.dtype.empty() && rows.type() == element_type::int16) {
    throw error(failure::input,
                fmt::format("{}: holds int16, but rows are {}; or the bits of bfloat16 as int16, "
                            "with --bfloat16",
                            name, row_types_of_files()));
  }
  return row_type(name, rows.type(), o.dtype);
}

problem problem_of(const prove_arguments& o, const npy_file& rows) {
  problem p;
  p.type = type_of(o, rows);
  p.q = rows_in(rows);
  p.n = columns_in(rows);
  p.k = o.k;
  if (by_columns(rows)) p.layout = layout::column_major;
  p.direction = o.largest ? direction::largest : direction::smallest;
  p.payload = o.indices.empty()  ? payload::values
              : o.values.empty() ? payload::indices
                                 : payload::values_and_indices;
  p.nan = o.nan;
  return p;
}

void require_values_like(const std::string& name, const npy_file& file, const npy_file& rows) {
  if (file.type() == rows.type()) return;
  throw error(failure::input,
              fmt::format("{}: holds {}, but the rows' values are {}; name an answer of indices "
                          "alone by --indices",
                          input_name(name), to_string(file.type()), to_string(rows.type())));
}

void require_integers(const std::string& name, const npy_file& file) {
  if (file.type() == element_type::int32 || file.type() == element_type::int64) return;
  throw error(failure::input, fmt::format("{}: holds {}, but indices are int32 or int64",
                                          input_name(name), to_string(file.type())));
}

contract promised(const prove_arguments& o) {
  contract promises;
  promises.ordering = o.stable   ? output_ordering::stable_sorted
                      : o.sorted ? output_ordering::sorted
                                 : output_ordering::unsorted;
  promises.tie_break = o.stable ? tie_break::prefer_smaller_index : tie_break::unspecified;
  return promises;
}

// Values, indices, or both.
struct answer {
  std::optional<npy_file> values, indices;

  const npy_file& first() const { return values ? *values : *indices; }
};

answer open_answer(const prove_arguments& o) {
  answer given;
  if (!o.values.empty()) given.values = open_matrix(o.values);
  if (!o.indices.empty()) given.indices = open_matrix(o.indices);
  return given;
}

// Makes `p` the problem that the answer is of, whose rows may be ragged.
std::optional<ragged_arrays> complete(problem& p, const prove_arguments& o, const npy_file& rows,
                                      const answer& given) {
  const std::string& name = given.values ? o.values : o.indices;
  if (o.k != 0 && columns_in(given.first()) != o.k) {
    throw error(failure::usage, fmt::format("{}: has {}, but --k is {}", input_name(name),
                                            amount_of(columns_in(given.first()), "column"), o.k));
  }
  p.k = columns_in(given.first());
  std::optional<ragged_arrays> ragged;
  if (o.ragged.any()) ragged.emplace(o.ragged, p, input_name(o.rows));
  if (!p.ragged() && p.k > p.n) {
    throw error(failure::usage, fmt::format("{}: k = {} is more than the {} columns of {}",
                                            input_name(name), p.k, p.n, input_name(o.rows)));
  }
  if (given.values) {
    require_shape(o.values, *given.values, p);
    require_values_like(o.values, *given.values, rows);
  }
  if (given.indices) {
    const bool wide = given.indices->type() == element_type::int64;
    p.index = wide ? index_type::int64 : index_type::int32;
    require_shape(o.indices, *given.indices, p);
    require_integers(o.indices, *given.indices);
  }
  return ragged;
}

int tell(const prove_arguments& o, const problem& p, const verdict& found) {
  const std::string name = input_name(o.values.empty() ? o.indices : o.values);
  if (found) {
    fmt::print("{}: the {} {} of {}{} in each of {}, proven\n", name, p.k, to_string(p.direction),
               p.ragged() ? "up to " : "", p.n, amount_of(p.q, "row"));
    return 0;
  }
  throw error(failure::wrong_answer, fmt::format("{}: {} of {} wrong; {}", name, found.rows_wrong,
                                                 amount_of(p.q, "row"), found.first->detail));
}

void require_an_answer(const prove_arguments& o) {
  if (!o.values.empty() || !o.indices.empty()) return;
  throw error(failure::usage,
              "`kselect prove` needs VALUES (or --values), INDICES (or --indices) "
              "or both; see `kselect help prove`");
}

int prove(const prove_arguments& o) {
  require_an_answer(o);
  o.ragged.require_use_of_fill();
  const std::array<named_file, 9> inputs = {{{"ROWS", o.rows, true},
                                             {"VALUES", o.values, true},
                                             {"INDICES", o.indices, true},
                                             {"--lengths", o.ragged.lengths, true},
                                             {"--starts", o.ragged.starts, true},
                                             {"--offsets", o.ragged.offsets, true},
                                             {"--k-each", o.ragged.k_each, true},
                                             {"--map", o.ragged.map, true},
                                             {"--mask", o.ragged.mask, true}}};
  const job_files distinct(inputs, {});
  const npy_file rows = open_matrix(o.rows);
  problem p = problem_of(o, rows);
  const answer given = open_answer(o);
  const std::optional<ragged_arrays> ragged = complete(p, o, rows, given);
  const row_places places = ragged ? ragged->places() : row_places{};
  const auto data = [](const std::optional<npy_file>& file) {
    // io has writable pointers for algorithms. The certificate only reads.
    return file ? const_cast<std::byte*>(file->data()) : nullptr;
  };
  const io buffers{.input = rows.data(),
                   .values = data(given.values),
                   .indices = data(given.indices),
                   .lengths = places.lengths.data(),
                   .starts = places.starts.data(),
                   .k_each = places.k_each.data(),
                   .map = places.map.data(),
                   .mask = places.mask.data()};
  const verdict found = verify(p, promised(o), buffers, threads_to_use(o.threads));
  for (const npy_file* const file : {&rows, &given.first()}) file->require_unchanged();
  if (given.indices) given.indices->require_unchanged();
  if (ragged) ragged->require_unchanged();
  return tell(o, p, found);
}

}  // namespace

void add_prove(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "prove", "Prove an answer of any program: exit code 0, or 7 if it is wrong");
  const auto o = std::make_shared<prove_arguments>();
  command
      ->add_option("ROWS,--rows", o->rows,
                   "the rows, Q x n, or one row of n: " + row_types_of_files() + " (.npy)")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("VALUES,--values", o->values,
                   "the answer's values, Q x k (.npy); without them the indices are proven")
      ->type_name("FILE");
  command
      ->add_option("INDICES,--indices", o->indices,
                   "its indices, int32 or int64, Q x k (.npy); one of the files may be -, "
                   "standard input")
      ->type_name("FILE");
  command->add_option("--k", o->k, "k; default: the answer's")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_flag("--largest", o->largest, "the k largest were asked for");
  command->add_flag("--bfloat16", o->bfloat16, "rows and values are bits of bfloat16, as int16");
  command
      ->add_option("--dtype", o->dtype,
                   "what the bits of rows and values are, if they are saved as integers: bfloat16, "
                   "float8_e4m3fn or float8_e5m2")
      ->type_name("TYPE");
  auto* const sorted = command->add_flag("--sorted", o->sorted, "best first");
  command
      ->add_flag("--stable", o->stable,
                 "best first, and of equal ones the smallest indices, in order")
      ->excludes(sorted);
  option_nan(*command, o->nan);
  option_ragged(*command, o->ragged);
  option_threads(*command, o->threads);
  command->callback([&chosen, o] { chosen = [o] { return prove(*o); }; });
}

}  // namespace kselect::cli
