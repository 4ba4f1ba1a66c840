// `kselect generate`: vectors from the generator of harness/workload, as many as the disk holds.

#include <algorithm>
#include <array>
#include <future>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "harness/workload/rows.hpp"
#include "runtime/backend/host_backend.hpp"
#include "runtime/io/npy.hpp"

namespace kselect::cli {
namespace {

constexpr std::int64_t piece_bytes = 64 << 20;

struct generate_arguments {
  std::string output, distribution = "uniform";
  std::int64_t count = 0, dimension = 0;
  std::uint64_t seed = 1;
  int threads = 0;
};

// One piece is written while the next is made.
int generate(const generate_arguments& o) {
  const int threads = o.threads == 0 ? available_threads() : o.threads;
  workload p;
  p.n = o.dimension;
  p.k = 1;
  p.distribution.kind = parse<distribution_kind>(o.distribution).value();
  p.seed = o.seed;
  npy_writer file(o.output, element_type::float32, std::array{o.count, o.dimension});
  const std::int64_t row_bytes = o.dimension * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t rows = std::max<std::int64_t>(1, piece_bytes / row_bytes);
  std::array<std::vector<std::byte>, 2> pieces;
  std::future<void> writing;
  for (std::int64_t first = 0; first < o.count; first += rows) {
    std::vector<std::byte>& piece = pieces[static_cast<std::size_t>(first / rows % 2)];
    p.q = std::min(rows, o.count - first);
    piece.resize(p.input_bytes());
    generate_rows(p, piece, threads, first);
    if (writing.valid()) writing.get();
    writing = std::async(std::launch::async, [&file, &piece] { file.append(piece); });
  }
  if (writing.valid()) writing.get();
  file.commit();
  fmt::print("{}: {} vectors of dimension {}, {}, seed {}\n", o.output, o.count, o.dimension,
             o.distribution, o.seed);
  return 0;
}

}  // namespace

void add_generate(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "generate", "Vectors of independent components, the same on every machine (.npy)");
  const auto o = std::make_shared<generate_arguments>();
  command->add_option("--count", o->count, "how many vectors")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option("--dimension", o->dimension, "components of each")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  command->add_option("--distribution", o->distribution, "of the components")
      ->check(CLI::IsMember({"uniform", "normal"}))
      ->capture_default_str();
  command->add_option("--seed", o->seed, "another seed, other vectors")->capture_default_str();
  command->add_option("--output", o->output, "where to write them, float32")->required();
  option_threads(*command, o->threads);
  command->callback([&chosen, o] { chosen = [o] { return generate(*o); }; });
}

}  // namespace kselect::cli
