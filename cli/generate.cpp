// `kselect generate` writes vectors, or the rows of a sweep, from the generator of
// harness/workload. It works in pieces, so only the disk limits their number.

#include <algorithm>
#include <array>
#include <future>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "harness/workload/rows.hpp"
#include "runtime/backend/host_backend.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/io/stream.hpp"

namespace kselect::cli {
namespace {

constexpr std::int64_t piece_bytes = 64 << 20;

// Options of both forms. A vector is a row of `dimension` components.
struct generate_arguments {
  std::string output, distribution = "uniform", dtype = "float32";
  std::string lengths, lengths_output, mask, mask_output;
  std::int64_t count = 0, dimension = 0, k = 1, first = 0;
  std::uint64_t seed = 1;
  int threads = 0;
};

// The names of the distributions, with the default of a parameter: "uniform, few_distinct(16)".
std::string known_distributions() {
  std::vector<std::string> known;
  for (const auto& entry : names<distribution_kind>) {
    if (entry.value == distribution_kind::external) continue;
    const auto range = parameter_of(entry.value);
    known.push_back(to_string(distribution{entry.value, range ? range->preset : 0}));
  }
  return fmt::format("{}", fmt::join(known, ", "));
}

workload workload_of(const generate_arguments& o) {
  const auto distribution = parse_distribution(o.distribution);
  if (!distribution) {
    throw error(failure::usage, fmt::format("--distribution '{}' is none of {}", o.distribution,
                                            known_distributions()));
  }
  workload w;
  w.n = o.dimension;
  w.k = o.k;
  w.type = parse<dtype>(o.dtype).value();
  w.distribution = *distribution;
  w.seed = o.seed;
  return w;
}

std::array<named_file, 3> outputs_of(const generate_arguments& o) {
  return {{{"--output", o.output, true},
           {"--lengths-output", o.lengths_output, true},
           {"--mask-output", o.mask_output, true}}};
}

// Writes one piece while the next is made.
void write_rows(workload w, const generate_arguments& o) {
  const int threads = threads_to_use(o.threads);
  npy_writer file(o.output, parse<element_type>(o.dtype).value(), std::array{o.count, w.n});
  const std::int64_t row_bytes = w.n * static_cast<std::int64_t>(size_of(w.type));
  const std::int64_t rows = std::max<std::int64_t>(1, piece_bytes / row_bytes);
  std::array<std::vector<std::byte>, 2> pieces;
  std::future<void> writing;
  for (std::int64_t done = 0; done < o.count; done += rows) {
    std::vector<std::byte>& piece = pieces[static_cast<std::size_t>(done / rows % 2)];
    w.q = std::min(rows, o.count - done);
    piece.resize(w.input_bytes());
    generate_rows(w, piece, threads, o.first + done);
    if (writing.valid()) writing.get();
    writing = std::async(std::launch::async, [&file, &piece] { file.append(piece); });
  }
  if (writing.valid()) writing.get();
  file.commit();
}

int generate_vectors(const generate_arguments& o) {
  if (o.count == 0 || o.dimension == 0) {
    throw error(failure::usage, "give --count and --dimension, or use `kselect generate rows`");
  }
  if (o.output.empty()) throw error(failure::usage, "--output FILE.npy is required");
  const job_files held({}, outputs_of(o));
  write_rows(workload_of(o), o);
  say_beside(outputs_of(o),
             fmt::format("{}: {} of dimension {}, {}, seed {}\n", output_name(o.output),
                         amount_of(o.count, "vector"), o.dimension, o.distribution, o.seed));
  return 0;
}

// Writes the lengths that these rows have in a sweep with this `lengths`.
void write_lengths(const workload& w, const generate_arguments& o) {
  if (o.lengths.empty() != o.lengths_output.empty()) {
    throw error(failure::usage, "--lengths and --lengths-output go together");
  }
  if (o.lengths.empty()) return;
  const auto lengths = parse_row_lengths(o.lengths);
  if (!lengths) {
    throw error(
        failure::usage,
        fmt::format("--lengths '{}' is not equal, uniform, zipf(0 to 8) or two_sizes(0 to 1)",
                    o.lengths));
  }
  if (o.first != 0 || w.n > std::numeric_limits<std::int32_t>::max()) {
    throw error(failure::usage,
                "--lengths is for all rows, of less than 2^31 elements each; leave "
                "--first out");
  }
  const std::vector<std::int32_t> made = make_lengths(*lengths, w.n, o.count, w.seed);
  npy_writer file(o.lengths_output, element_type::int32, std::array{o.count});
  file.append(std::as_bytes(std::span(made)));
  file.commit();
}

// Writes the mask that these rows have in a sweep with this value of `masks`: a byte for each bit.
void write_mask(const workload& w, const generate_arguments& o) {
  if (o.mask.empty() != o.mask_output.empty()) {
    throw error(failure::usage, "--mask and --mask-output go together");
  }
  if (o.mask.empty()) return;
  const auto mask = parse_drawn_mask(o.mask);
  if (!mask || mask->kind == mask_bits::none) {
    throw error(failure::usage,
                fmt::format("--mask '{}' is not columns(SHARE) or elements(SHARE), with a share "
                            "of more than 0 and at most 1",
                            o.mask));
  }
  if (o.first != 0) throw error(failure::usage, "--mask is for all rows; leave --first out");
  const std::vector<std::uint32_t> words = make_mask(*mask, w.n, o.count, w.seed);
  const bool shared = mask->kind == mask_bits::columns;
  const std::int64_t rows = shared ? 1 : o.count;
  const std::array shape{rows, w.n};
  npy_writer file(o.mask_output, element_type::uint8, std::span(shape).subspan(shared ? 1 : 0));
  std::vector<std::byte> row(static_cast<std::size_t>(w.n));
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::uint32_t* const bits = words.data() + r * words_of_mask(w.n);
    for (std::int64_t j = 0; j < w.n; ++j) {
      row[static_cast<std::size_t>(j)] = static_cast<std::byte>(bits[j / 32] >> j % 32 & 1U);
    }
    file.append(row);
  }
  file.commit();
}

int generate_rows_of_sweep(const generate_arguments& o) {
  const workload w = workload_of(o);
  if (w.k > w.n) throw error(failure::usage, fmt::format("--k {} is more than --n {}", w.k, w.n));
  const job_files held({}, outputs_of(o));
  write_lengths(w, o);
  write_mask(w, o);
  write_rows(w, o);
  say_beside(outputs_of(o),
             fmt::format("{}: rows {} to {} of n = {}, {}, {}, seed {}\n", output_name(o.output),
                         o.first, o.first + o.count - 1, w.n, o.dtype, o.distribution, o.seed));
  return 0;
}

const CLI::Range up_to_2_40(std::int64_t{1}, std::int64_t{1} << 40);

// The rows of a sweep's cell with the same distribution, seed and sizes.
void add_rows(CLI::App& generate, action& chosen) {
  CLI::App* const command = generate.add_subcommand(
      "rows", "Rows as a sweep has them: those of every cell with these numbers (.npy)");
  const auto o = std::make_shared<generate_arguments>();
  o->seed = 42;
  command->add_option("--n", o->dimension, "row length")->required()->check(up_to_2_40);
  command->add_option("--q", o->count, "how many rows")->required()->check(up_to_2_40);
  command->add_option("--k", o->k, "of the problem, which kth_ties alone depends on")
      ->check(up_to_2_40);
  command->add_option("--first", o->first, "number of the first row")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  command->add_option("--dtype", o->dtype, "type of the elements")
      ->check(CLI::IsMember({"float16", "float32", "float64", "int32", "uint32", "int8", "uint8"}))
      ->capture_default_str();
  command->add_option("--distribution", o->distribution, "as in a config, e.g. few_distinct(16)")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--lengths", o->lengths,
                   "lengths of the rows, as in a config, e.g. two_sizes(0.1)")
      ->type_name("NAME");
  command->add_option("--lengths-output", o->lengths_output, "where these go: int32 (.npy)")
      ->type_name("FILE");
  command->add_option("--mask", o->mask, "mask of the rows, as in a config, e.g. elements(0.1)")
      ->type_name("NAME");
  command
      ->add_option("--mask-output", o->mask_output,
                   "where it goes: uint8 (.npy), 1 where an element is admitted, n or Q x n")
      ->type_name("FILE");
  command->add_option("--seed", o->seed, "as in a config")->capture_default_str();
  option_output(*command, "--output", o->output, "the rows; - is standard output")->required();
  option_threads(*command, o->threads);
  command->callback([&chosen, o] { chosen = [o] { return generate_rows_of_sweep(*o); }; });
}

}  // namespace

void add_generate(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "generate", "Vectors of independent components, the same on every machine (.npy)");
  const auto o = std::make_shared<generate_arguments>();
  command->add_option("--count", o->count, "how many vectors")->check(up_to_2_40);
  command->add_option("--dimension", o->dimension, "components of each")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  command->add_option("--distribution", o->distribution, "of the components")
      ->check(CLI::IsMember({"uniform", "normal"}))
      ->capture_default_str();
  command->add_option("--seed", o->seed, "another seed, other vectors")->capture_default_str();
  option_output(*command, "--output", o->output, "the vectors, float32; - is standard output");
  option_threads(*command, o->threads);
  add_rows(*command, chosen);
  command->callback([&chosen, command, o] {
    if (command->get_subcommands().empty()) chosen = [o] { return generate_vectors(*o); };
  });
}

}  // namespace kselect::cli
