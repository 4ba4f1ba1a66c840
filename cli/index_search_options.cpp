#include "cli/index_search_options.hpp"

#include <vector>

#include "cli/commands.hpp"
#include "search/knn/knn.hpp"
#include "search/metric/sets.hpp"

namespace kselect::cli {
namespace {

using metric_space::most_objects;

void add_kernel_options(CLI::App& command, index_search_arguments& o) {
  constexpr const char* kernels = "Executors cuda and fiber";
  command
      .add_option("--distribution", o.distribution,
                  "sss: what threads are given: elements or pivots, as in the thesis, or "
                  "elements for a group of queries")
      ->check(CLI::IsMember({"elements", "pivots", "groups"}))
      ->capture_default_str()
      ->group(kernels);
  command
      .add_option(
          "--walk", o.walk,
          "list_of_clusters: what threads take turns at: all members, as in the thesis, the "
          "clusters that are not ruled out, or those that a group of queries needs")
      ->check(CLI::IsMember({"members", "clusters", "groups"}))
      ->capture_default_str()
      ->group(kernels);
  command.add_option("--batch", o.batch, "queries in a launch; 0: few at first, then more and more")
      ->check(CLI::Range(std::int64_t{0}, most_objects))
      ->group(kernels);
  command.add_option("--block-threads", o.block_threads, "threads of a query's block")
      ->capture_default_str()
      ->group(kernels);
}

}  // namespace

void add_search_options(CLI::App& command, index_search_arguments& o) {
  command.add_option("INDEX,--index", o.index, "index file of `kselect index build`")
      ->required()
      ->type_name("FILE");
  command
      .add_option("QUERIES,--queries", o.queries,
                  "vectors or words, as for build; - is standard input")
      ->required()
      ->type_name("FILE");
  command.add_option("--limit", o.limit, "only so many queries; 0: all")
      ->check(CLI::Range(std::int64_t{0}, most_objects));
  command.add_flag("--exhaustive", o.exhaustive, "leave the index aside: every distance");
  option_output(command, "--distances", o.distances,
                "the distances, float32 (.npy); - is standard output");
  option_output(command, "--json", o.json_file, "the answers as JSON, words included, or -");
  std::vector<std::string> scopes;
  for (const auto& entry : names<proof_scope>) scopes.emplace_back(entry.name);
  command
      .add_option("--prove", o.prove,
                  "queries whose answer is proven against all distances; sample: 16")
      ->check(CLI::IsMember(scopes))
      ->capture_default_str();
  add_kernel_options(command, o);
  option_executor(command, o.executor);
  option_threads(command, o.threads);
}

}  // namespace kselect::cli
