// `kselect knn`: exact k-nearest neighbours, or the k-NN graph, of real vectors.

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

#include "harness/cli/commands.hpp"
#include "harness/error.hpp"
#include "harness/io/npy.hpp"
#include "harness/knn/knn.hpp"

namespace kselect::cli {
namespace {

struct options {
  std::string base, query, algorithm, indices, distances;
  std::string metric = "sqeuclidean";
  std::string executor = "auto";
  std::int64_t k = 0, limit = 0, block_mib = 256;
  bool self = false, exclude_self = false;
  int threads = 0;
};

int find_neighbours(const options& o) {
  if (o.query.empty() == !o.self) {
    throw error(failure::usage, "give either --query FILE or --self (every base vector is a query)");
  }
  if (o.exclude_self && !o.self) {
    throw error(failure::usage, "--exclude-self needs --self: a query file has no own vectors");
  }
  const algorithm& entry = *require_algorithm(o.algorithm).algorithm;
  const auto place = open_backend(require_executor(o.executor, entry), o.threads);
  load_options base_options;
  base_options.limit = o.limit;
  const vector_set base = load_vectors(o.base, base_options);
  const vector_set query = o.self ? vector_set{} : load_vectors(o.query, {});
  const knn_request request{.base = base,
                            .query = o.self ? nullptr : &query,
                            .exclude_self = o.exclude_self,
                            .metric = parse<metric>(o.metric).value(),
                            .k = o.k,
                            .entry = entry,
                            .block_bytes = o.block_mib << 20};
  const std::vector<std::int64_t> shape = {request.queries().count, o.k};
  npy_writer indices(o.indices, element_type::int64, shape);
  npy_writer distances(o.distances, element_type::float32, shape);
  knn(request, *place, [&](const knn_block& block) {
    indices.append(std::as_bytes(block.indices));
    distances.append(std::as_bytes(block.distances));
    if (isatty(STDERR_FILENO) != 0) {
      fmt::print(stderr, "\r{} of {} queries", block.first + block.count, shape[0]);
    }
  });
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
  indices.commit();
  distances.commit();
  fmt::print("{}: {} nearest of {} vectors ({}, dimension {}) for each of {} queries, proven\n",
             entry.name, o.k, base.count - (o.exclude_self ? 1 : 0), o.metric, base.dimension,
             shape[0]);
  return 0;
}

}  // namespace

void add_knn(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("knn", "Exact k-nearest neighbours of vectors, or their k-NN graph");
  const auto o = std::make_shared<options>();
  command
      ->add_option("--base", o->base,
                   "vectors: .npy, .fvecs, .bvecs, .ivecs, idx, .hdf5[:dataset]; also .gz of idx")
      ->required();
  command->add_option("--query", o->query, "query vectors, same formats");
  command->add_flag("--self", o->self, "every base vector is a query: the k-NN graph");
  command->add_flag("--exclude-self", o->exclude_self, "a vector is not its own neighbour");
  command->add_option("--limit", o->limit, "read only so many base vectors; 0 means all")
      ->check(CLI::NonNegativeNumber);
  std::vector<std::string> metrics;
  for (const auto& entry : names<metric>) metrics.emplace_back(entry.name);
  command->add_option("--metric", o->metric, "distance")
      ->check(CLI::IsMember(metrics))
      ->capture_default_str();
  command->add_option("--k", o->k, "neighbours of each query")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option("--algorithm", o->algorithm, "name from `kselect list`")->required();
  command->add_option("--indices", o->indices, "where to write indices, int64 Q x k (.npy)")
      ->required();
  command->add_option("--distances", o->distances, "where to write distances, float32 Q x k (.npy)")
      ->required();
  command->add_option("--block", o->block_mib, "MiB of distances held at once")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  option_executor(*command, o->executor);
  option_threads(*command, o->threads);
  command->callback([&chosen, o] { chosen = [o] { return find_neighbours(*o); }; });
}

}  // namespace kselect::cli
