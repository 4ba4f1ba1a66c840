#include "cli/knn_options.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "runtime/error.hpp"

namespace kselect::cli {
namespace {

// Which products the executor has, and which options go with them.
void refuse_product(const knn_arguments& o, executor_kind kind) {
  const auto product = parse<knn_product>(o.product).value();
  if (product == knn_product::automatic) return;
  const bool fits = product == knn_product::float64 ? kind != executor_kind::cuda
                    : is_filtered(product)          ? kind != executor_kind::cpu
                                                    : kind == executor_kind::cuda;
  if (!fits) {
    throw error(failure::usage,
                fmt::format("--product {} is not for executor {}: cuda has float16, bfloat16, "
                            "int8, tf32 and float32, fiber float16, bfloat16, int8 and float64, "
                            "cpu float64",
                            o.product, to_string(kind)));
  }
  if (product == knn_product::float32 && o.tf32) {
    throw error(failure::usage, "--tf32 is --product tf32, not float32: give one of them");
  }
}

// The options that only products in float32 have, which are a GPU's.
void refuse_options_of_float32(const knn_arguments& o, executor_kind kind) {
  const auto product = parse<knn_product>(o.product).value();
  const bool on_gpu = kind == executor_kind::cuda;
  if (on_gpu && !is_filtered(product)) return;
  // In tiles --memory bounds what a GPU, or fibers in its place, hold by any product.
  const bool in_tiles = o.tiled.wanted() && (on_gpu || is_filtered(product));
  std::vector<std::string_view> given;
  if (o.memory_mib != 0 && !in_tiles) given.emplace_back("--memory");
  if (o.tf32) given.emplace_back("--tf32");
  if (o.sum_by_warp) given.emplace_back("--sum-by-warp");
  if (given.empty()) return;
  throw error(failure::usage,
              fmt::format("{}: for products in float32 on executor cuda; this is {} with --product "
                          "{}: leave {} out",
                          fmt::join(given, ", "), to_string(kind), o.product,
                          given.size() == 1 ? "it" : "them"));
}

constexpr const char* cuda_group = "Executor cuda";

void add_cuda_options(CLI::App& command, knn_arguments& o) {
  command
      .add_option("--memory", o.memory_mib,
                  "MiB of device memory: half for the corpus, half for distances and algorithm; 0: "
                  "from what is free")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str()
      ->group(cuda_group);
  command
      .add_flag("--tf32", o.tf32,
                "products by tensor cores with 11-bit factors: faster, neighbours not exact")
      ->group(cuda_group);
  CLI::Option* const half = command.add_flag(
      "--half-product", o.half_product,
      "with --self: compute half of the matrix product and use it twice, if corpus and candidates "
      "fit into device memory; several ranks share it, each with the whole corpus; default in "
      "memory where it is faster by --product float16, bfloat16 and int8");
  half->group(cuda_group);
  command
      .add_flag("--whole-product", o.whole_product,
                "with --self: compute the whole matrix product, also where half of it is faster")
      ->group(cuda_group)
      ->excludes(half);
  command.add_flag("--sum-by-warp", o.sum_by_warp, "norms by a warp a vector instead of Thrust")
      ->group(cuda_group);
}

// Proofs and times of a search on a GPU.
void add_measures(CLI::App& command, knn_arguments& o) {
  std::vector<std::string> scopes = {"auto"};
  for (const auto& entry : names<proof_scope>) scopes.emplace_back(entry.name);
  command
      .add_option(
          "--prove", o.prove,
          "rows of every selection to prove; auto: a sample on cuda by --product float32 or tf32. "
          "All other products prove every query")
      ->check(CLI::IsMember(scopes))
      ->capture_default_str()
      ->group(cuda_group);
  command
      .add_option(
          "--timing", o.timing,
          "repeat so often and print the time of each stage on stderr; the first of several "
          "repeats proves, and does not count")
      ->check(CLI::Range(1, 10000))
      ->group(cuda_group);
  command
      .add_option("--record", o.record,
                  "with --timing, or in tiles on any executor: the folder of a run, to which the "
                  "search is added as a cell; a further search of the same adds to its rounds")
      ->type_name("DIR")
      ->group(cuda_group);
}

void add_inputs(CLI::App& command, knn_arguments& o) {
  command
      .add_option("BASE", o.base_file,
                  "vectors: .npy, .fvecs, .bvecs, .ivecs, .kvec, idx (in memory also .gz), "
                  ".hdf5[:dataset]; - is an .npy on standard input")
      ->type_name("FILE");
  command
      .add_option("QUERIES,--query", o.query,
                  "query vectors, same formats; an .npy of one dimension is one query")
      ->type_name("FILE");
  command
      .add_option("--base", o.base,
                  "in place of BASE; in tiles also several files, one after the other")
      ->type_name("FILE");
  command.add_flag("--self", o.self, "every base vector is a query: the k-NN graph");
  command.add_flag("--exclude-self", o.exclude_self, "a vector is not its own neighbour");
  command.add_option("--limit", o.limit, "read only so many base vectors; 0 means all")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
}

void add_question(CLI::App& command, knn_arguments& o) {
  std::vector<std::string> metrics;
  for (const auto& entry : names<metric>) metrics.emplace_back(entry.name);
  command.add_option("--metric", o.metric, "distance")
      ->check(CLI::IsMember(metrics))
      ->capture_default_str();
  command.add_option("--k", o.k, "neighbours of each query")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  option_output(command, "--indices", o.indices,
                "the indices, int64 Q x k (.npy); - is standard output");
  option_output(command, "--distances", o.distances, "the distances, float32 Q x k (.npy), or -");
  command
      .add_option("--filter", o.filter,
                  "which base vectors may be neighbours: .npy of bool or uint8, one a vector, or "
                  "uint8 bits (numpy.packbits, bitorder=\"little\")")
      ->type_name("FILE");
  command.add_option("--filter-each", o.filter_each, "the same for each query: a row a query")
      ->type_name("FILE");
}

void add_method(CLI::App& command, knn_arguments& o) {
  option_algorithm(command, o.algorithm);
  option_plugins(command);
  command
      .add_option("--block", o.block_mib,
                  fmt::format("MiB of candidates and distances held at once, by default {}; in "
                              "memory, not on cuda",
                              usual_block_mib))
      ->group(place_group)
      ->check(CLI::Range(1, 1 << 20));
  std::vector<std::string> products;
  for (const auto& entry : names<knn_product>) products.emplace_back(entry.name);
  command
      .add_option(
          "--product", o.product,
          "what ranks vectors before exact distances decide; auto: on executor cuda float16, or "
          "int8 of vectors of bytes where that is faster, unless an option or --algorithm asks for "
          "another way; int8: vectors of bytes, in integers; bfloat16: where most vectors are "
          "small "
          "beside a few")
      ->check(CLI::IsMember(products))
      ->capture_default_str();
}

}  // namespace

void add_knn_options(CLI::App& command, knn_arguments& o) {
  add_inputs(command, o);
  add_question(command, o);
  add_method(command, o);
  add_tiled_options(command, o.tiled);
  add_cuda_options(command, o);
  add_measures(command, o);
  option_executor(command, o.executor);
  option_threads(command, o.threads);
}

knn_arguments with_base(knn_arguments o) {
  if (!o.base.empty() && o.query.empty()) o.query = std::exchange(o.base_file, {});
  if (o.base_file.empty() == o.base.empty()) {
    throw error(failure::usage,
                "name the base once: `kselect knn BASE QUERIES`, or --base FILE...");
  }
  if (o.base.empty()) o.base = {o.base_file};
  return o;
}

cuda_knn_options cuda_options(const knn_arguments& o) {
  cuda_knn_options cuda;
  cuda.memory_bytes = o.memory_mib << 20;
  cuda.tf32 = o.tf32 || o.product == "tf32";
  if (o.half_product || o.whole_product) cuda.half_product = o.half_product;
  cuda.sum_by_warp = o.sum_by_warp;
  // Proving all rows downloads every distance on a GPU; on the host it costs nothing.
  cuda.prove = o.prove == "auto" ? proof_scope::sample : parse<proof_scope>(o.prove).value();
  cuda.repeats = o.timing;
  return cuda;
}

bit_masks masks_of(const knn_arguments& o, std::int64_t queries, std::int64_t vectors) {
  bit_masks one, each;
  if (!o.filter.empty()) one = load_bit_masks(o.filter, {.n = vectors});
  if (o.filter_each.empty()) return one;
  each = load_bit_masks(o.filter_each, {.n = vectors,
                                        .rows = queries,
                                        .shared = false,
                                        .each = true,
                                        .things = "these vectors and queries"});
  for (std::size_t i = 0; i < each.words.size() && !one.words.empty(); ++i) {
    each.words[i] &= one.words[i % one.words.size()];
  }
  return each;
}

knn_filter filter_of(const bit_masks& masks) {
  if (masks.words.empty()) return {};
  return {.words = masks.words.data(), .pitch = masks.each ? masks.pitch : 0};
}

// What has no filters, by the option that asks for it.
void refuse_filters(const knn_arguments& o) {
  if (o.filter.empty() && o.filter_each.empty()) return;
  const char* const given = o.filter.empty() ? "--filter-each" : "--filter";
  if (o.tiled.wanted()) {
    throw error(
        failure::usage,
        fmt::format("{} is for a search in memory: leave out --memory-limit, --mpi, --gpus, "
                    "--ranks and --resume",
                    given));
  }
  const bool older = o.product == "float32" || o.product == "tf32" || o.tf32 || o.half_product ||
                     o.sum_by_warp || o.memory_mib != 0;
  if (older) {
    throw error(
        failure::usage,
        fmt::format(
            "{} needs --product float16, bfloat16, int8 or float64: the products in float32 "
            "and tf32, --memory, --half-product and --sum-by-warp have no filters",
            given));
  }
}

void refuse_combinations(const knn_arguments& o) {
  refuse_filters(o);
  if (o.query.empty() == !o.self) {
    throw error(failure::usage, "give either QUERIES or --self (every base vector is a query)");
  }
  if (o.exclude_self && !o.self) {
    throw error(failure::usage, "--exclude-self needs --self: a query file has no own vectors");
  }
  if ((o.half_product || o.whole_product) && !o.self) {
    throw error(failure::usage, fmt::format("{} needs --self: it is the k-NN graph's symmetry",
                                            o.half_product ? "--half-product" : "--whole-product"));
  }
  if (!o.record.empty() && o.timing == 0 && !o.tiled.wanted()) {
    throw error(failure::usage,
                "--record needs --timing N, or a search in tiles: it records times");
  }
}

void refuse_what_executor_lacks(const knn_arguments& o, executor_kind kind) {
  refuse_product(o, kind);
  if (o.block_mib != 0 && (o.tiled.wanted() || kind == executor_kind::cuda)) {
    throw error(failure::usage,
                fmt::format("--block is for a search in memory on cpu or fiber: {}; leave it out",
                            o.tiled.wanted() ? "in tiles --memory-limit bounds what is held"
                                             : "cuda takes what its memory allows"));
  }
  refuse_options_of_float32(o, kind);
  if (kind == executor_kind::cuda) return;
  const bool filtered = is_filtered(parse<knn_product>(o.product).value());
  if (o.prove != "auto" && o.prove != "all") {
    throw error(failure::usage,
                fmt::format("--prove {} is for executor cuda; {} proves every query at no cost",
                            o.prove, to_string(kind)));
  }
  if (o.tiled.wanted()) return;
  if (o.timing != 0 || !o.record.empty()) {
    throw error(failure::usage,
                fmt::format("--timing and --record are for executor cuda; this is {}: measure by "
                            "`kselect run knn_quick`, or by --record with --memory-limit",
                            to_string(kind)));
  }
  if (o.half_product && !filtered) {
    throw error(failure::usage,
                fmt::format("--half-product is for executor cuda, or for executor fiber with "
                            "--product float16, bfloat16 or int8; this is {} with --product {}",
                            to_string(kind), o.product));
  }
}

}  // namespace kselect::cli
