// The members of `auto` on a GPU and on fibers, and the rules that choose one without a cost table.

#include <array>
#include <cstdint>

#include "algorithms/auto_select/members.hpp"
#include "kselect/simt/device_size.hpp"

namespace kselect::entries {
std::span<const algorithm> buffered_multi_select_block();
std::span<const algorithm> buffered_multi_select_grid();
std::span<const algorithm> ordered_select();  // its steps order the answers of auto+sorted
std::span<const algorithm> kth_warp();
std::span<const algorithm> best_of_row();
std::span<const algorithm> short_rows();
std::span<const algorithm> radix_select();
std::span<const algorithm> quick_multi_select();
std::span<const algorithm> heap_queue();
}  // namespace kselect::entries

namespace kselect {
namespace {

bool always(const problem&, const device&) { return true; }

// One block takes some 20 us for every 2^17 elements of a row. Several blocks divide this time and
// add some 10 us.
bool few_long_rows(const problem& p, const device& where) {
  if (p.ragged()) return false;  // long_ragged_rows decides about these
  if (8 * p.q <= where.multiprocessors) return p.n > simt::long_row(where);
  return 4 * p.q <= 3 * where.multiprocessors && p.n >= 32 * simt::long_row(where);
}
bool fits_a_warp(const problem& p, const device&) { return p.n <= 1024; }
bool by_columns(const problem& p, const device&) { return p.layout == layout::column_major; }
// If each row went to one block, the block of the longest row would still work when all others have
// finished. So long ragged rows are cut into pieces. If each row has a multiprocessor to itself,
// none waits, and cutting and merging take as long as a block takes for 2^17 elements.
bool long_ragged_rows(const problem& p, const device& where) {
  const bool each_alone = p.q <= where.multiprocessors;
  return p.ragged() && p.n > (each_alone ? 8 * simt::long_row(where) : simt::long_row(where));
}
bool kth_alone(const problem& p, const device&) { return p.payload == payload::kth_value; }
bool kth_of_short_rows(const problem& p, const device& where) {
  return kth_alone(p, where) && p.n <= 2048;  // what kth-warp takes
}
// A warp to itself costs a row more than its elements do. A lane of a team has more elements, so
// one row takes longer: it pays if there are rows for all teams. short-rows itself knows how long a
// row of each type may be.
bool many_short_rows(const problem& p, const device& where) {
  return p.n <= 1024 && p.q >= 64 * where.multiprocessors;
}

// With more rows one block a row is as fast: reading takes most of the time. The record
// results/nvidia-h200/best_of_row has rows of 2048 elements and more, and 64 and 256 of them.
bool best_of_few(const problem& p, const device& where) {
  return p.k == 1 && p.q <= where.multiprocessors && p.n >= 2048;
}

constexpr std::array rules = {
    rule{&entries::kth_warp, "kth-warp", &kth_of_short_rows,
         "only the k-th value is wanted, and a row fits into the registers of one warp"},
    rule{&entries::radix_select, "radix-select", &kth_alone, "only the k-th value is wanted"},
    // Within 1 % of the best queue in geometric mean, 7 % at worst (results/nvidia-h200-x4/tang_*).
    rule{&entries::heap_queue, "tang/heap+partition4", &by_columns,
         "in column-major rows neighbouring lanes read neighbouring rows"},
    rule{&entries::short_rows, "short-rows", &many_short_rows,
         "rows so short, and so many, that a warp takes several", true},
    rule{&entries::best_of_row, "best-of-row", &best_of_few,
         "only the best of each row is wanted, and there are few rows", true},
    rule{&entries::buffered_multi_select_grid, "bms-grid", &long_ragged_rows,
         "long rows are cut into pieces, so that no block is left with one"},
    rule{&entries::buffered_multi_select_grid, "bms-grid", &few_long_rows,
         "so few rows that a block each would leave most of the card idle"},
    rule{&entries::buffered_multi_select_block, "bms-warp", &fits_a_warp,
         "a row fits into the registers of one warp"},
    rule{&entries::buffered_multi_select_block, "bms-block", &always,
         "each row read once, its survivors kept on chip"},
    rule{&entries::radix_select, "radix-select", &always,
         "more survivors than a multiprocessor's shared memory holds"},
    rule{&entries::quick_multi_select, "qms-block", &always, "nothing faster takes it"},
};

constexpr std::array<entries_of_file, 8> files = {&entries::buffered_multi_select_block,
                                                  &entries::buffered_multi_select_grid,
                                                  &entries::kth_warp,
                                                  &entries::short_rows,
                                                  &entries::best_of_row,
                                                  &entries::radix_select,
                                                  &entries::quick_multi_select,
                                                  &entries::heap_queue};

}  // namespace

std::span<const rule> gpu_rules() { return rules; }

std::span<const entries_of_file> gpu_files() { return files; }

}  // namespace kselect
