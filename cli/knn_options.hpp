#pragma once
// The options of `kselect knn`, and which of them go together.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/knn_in_tiles.hpp"
#include "runtime/io/bit_masks.hpp"
#include "search/knn/knn.hpp"

namespace kselect::cli {

struct knn_arguments {
  std::vector<std::string> base;
  std::string base_file;  // the base by its position
  std::string query, indices, distances, record;
  std::string filter, filter_each;
  std::string algorithm = "auto";
  tiled_options tiled;
  std::string metric = "sqeuclidean";
  std::string executor = "auto";
  std::string prove = "auto";
  std::string product = "auto";
  std::int64_t k = 0, limit = 0, memory_mib = 0;
  std::int64_t block_mib = 0;  // 0: usual_block_mib
  bool self = false, exclude_self = false;
  bool tf32 = false, half_product = false, whole_product = false, sum_by_warp = false;
  int threads = 0, timing = 0;
};

inline constexpr std::int64_t usual_block_mib = 256;

void add_knn_options(CLI::App& command, knn_arguments& o);

// The base is named once: by its position, or by --base, which takes several files. Returns the
// arguments with both in `base`. Throws error(failure::usage) for none and for two.
knn_arguments with_base(knn_arguments o);

cuda_knn_options cuda_options(const knn_arguments& o);

// The bits of --filter and --filter-each for so many queries and vectors: those that both admit. No
// words without either. Throws as load_bit_masks does.
bit_masks masks_of(const knn_arguments& o, std::int64_t queries, std::int64_t vectors);
knn_filter filter_of(const bit_masks& masks);

// These throw error(failure::usage): for options that exclude each other, and for options that the
// executor does not have, in memory or in tiles.
void refuse_combinations(const knn_arguments& o);
void refuse_what_executor_lacks(const knn_arguments& o, executor_kind kind);

}  // namespace kselect::cli
