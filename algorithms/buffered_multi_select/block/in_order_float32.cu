// Buffered multi-select, a row a block or a warp, of float32 rows: answers in order.

#include "algorithms/buffered_multi_select/block/in_order_launches.cuh"

namespace kselect::bms {

template call_plan block_plan_in_order<float>(const block_variant&, const problem&, const device&);

}  // namespace kselect::bms
