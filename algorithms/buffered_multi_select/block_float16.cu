// Buffered multi-select, a row a block or a warp, of 16-bit rows.

#include "algorithms/buffered_multi_select/block_launches.cuh"

namespace kselect::bms {

template support block_supports<float16>(const block_variant&, const problem&, const device&);
template status block_enqueue<float16>(const block_variant&, const problem&, const io&,
                                       const executor&);

}  // namespace kselect::bms
