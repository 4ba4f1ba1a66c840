// Buffered multi-select, a row a block or a warp, of rows of 16-bit floats: answers in order.

#include "algorithms/buffered_multi_select/block/in_order_launches.cuh"

namespace kselect::bms {

template call_plan block_plan_in_order<float16>(const block_variant&, const problem&,
                                                const device&);

}  // namespace kselect::bms
