// Buffered multi-select, a row a block or a warp, of float32 rows.

#include "algorithms/buffered_multi_select/block/launches.cuh"

namespace kselect::bms {

template call_plan block_plan<float>(const block_variant&, const problem&, const device&);

}  // namespace kselect::bms
