// `kselect knn prepare` writes vectors as a search out of core reads them best.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/job_progress.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/io/prepare_vectors.hpp"

namespace kselect::cli {
namespace {

struct prepare_arguments {
  std::vector<std::string> base;
  std::string output;
  std::int64_t limit = 0;
};

double in_mib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

int prepare_base(const prepare_arguments& o) {
  std::vector<named_file> inputs;
  for (const std::string& file : o.base) inputs.push_back({"BASE", container_of(file)});
  const std::array<named_file, 1> outputs = {{{"--output", o.output}}};
  const job_files held(inputs, outputs);
  const vector_files from = vector_files::open({o.base.begin(), o.base.end()}, o.limit);
  block_shape made;
  {
    job_progress shown("vectors", "nothing was written");
    shown.begin("read", 2 * from.count());
    made = prepare_vectors(from, o.output, [&](std::int64_t vectors) {
      shown.reached(vectors);
      shown.end_if_stopping();
    });
  }
  fmt::print("{} of dimension {} as {}: {:.1f} MiB, before {:.1f} MiB; {} of {}\n",
             amount_of(made.count, "vector"), made.dimension, to_string(made.type),
             in_mib(made.file_bytes()), in_mib(from.bytes(0, from.count())),
             amount_of(made.blocks(), "block"), amount_of(made.block_vectors, "vector"));
  return 0;
}

// Throws a usage error for an argument of the search, which this job would ignore.
void require_nothing_before(const CLI::App& knn) {
  for (const CLI::Option* given : knn.get_options()) {
    if (given->count() == 0) continue;
    throw error(failure::usage, fmt::format("{} before `prepare` is of a search; leave it out",
                                            given->get_name()));
  }
}

}  // namespace

void add_knn_prepare(CLI::App& knn, action& chosen) {
  CLI::App* const command =
      knn.add_subcommand("prepare", "Vectors for searches beyond memory: aligned, with checksums");
  const auto o = std::make_shared<prepare_arguments>();
  command
      ->add_option("BASE", o->base, "vectors, as knn takes them; several files follow each other")
      ->required()
      ->type_name("FILE");
  option_output(*command, "--output", o->output,
                "the prepared vectors (.kvec), in the narrowest type that holds them exactly")
      ->required();
  command->add_option("--limit", o->limit, "only so many vectors; 0 means all")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  // The search's own option is of no use here.
  command->preparse_callback([k = knn.get_option("--k")](std::size_t) { k->required(false); });
  command->callback([&chosen, &knn, o] {
    require_nothing_before(knn);
    chosen = [o] { return prepare_base(*o); };
  });
}

}  // namespace kselect::cli
