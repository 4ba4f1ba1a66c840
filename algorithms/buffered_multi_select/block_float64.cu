// Buffered multi-select, a row a block or a warp, of float64 rows.

#include "algorithms/buffered_multi_select/block_launches.cuh"

namespace kselect::bms {

template support block_supports<double>(const block_variant&, const problem&, const device&);
template status block_enqueue<double>(const block_variant&, const problem&, const io&,
                                      const executor&);

}  // namespace kselect::bms
