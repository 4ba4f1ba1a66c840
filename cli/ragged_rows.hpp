#pragma once
// Rows of lengths of their own for `kselect select`: --lengths, --starts, --offsets and --fill, a k
// of each row (--k-each), names of elements (--map), and which may be selected (--mask).

#include <cstdint>
#include <optional>
#include <string>

#include "cli/commands.hpp"
#include "harness/select/select_rows.hpp"
#include "kselect/algorithm.hpp"
#include "kselect/problem.hpp"
#include "runtime/io/bit_masks.hpp"
#include "runtime/io/npy.hpp"

namespace kselect::cli {

struct ragged_options {
  std::string lengths, starts, offsets, k_each, map, mask;
  std::int64_t fill = -1;
  bool any() const {
    return !lengths.empty() || !starts.empty() || !offsets.empty() || !k_each.empty() ||
           !map.empty() || !mask.empty();
  }
  // Throws failure::usage if there is an index for filling and nothing to fill.
  void require_use_of_fill() const;
  // Throws failure::unsupported if there is a mask and the algorithm takes none.
  void require_masks_of(const algorithm& entry) const;
};

void option_ragged(CLI::App& command, ragged_options& o);

// The arrays that the options name, proven to lie in the rows.
class ragged_arrays {
 public:
  // Opens the arrays and makes `p`, which is of a matrix, the problem of ragged rows. Throws
  // failure::usage if the options do not go together, and failure::input if an array has the wrong
  // size or type, or a number that leads out of the rows of `name`.
  ragged_arrays(const ragged_options& o, problem& p, const std::string& name);

  row_places places() const;
  void require_unchanged() const;

 private:
  void cut_to_segments(const ragged_options& o, problem& p, const std::string& name);
  void require_inside(const ragged_options& o, const problem& p, const std::string& name) const;
  void open_k_each(const ragged_options& o, problem& p, const std::string& name);
  void open_map(const ragged_options& o, problem& p, const std::string& name);
  void open_mask(const ragged_options& o, problem& p);

  std::optional<npy_file> lengths_, starts_, k_each_, map_;
  bit_masks mask_;
};

}  // namespace kselect::cli
