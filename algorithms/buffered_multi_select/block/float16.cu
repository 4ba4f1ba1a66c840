// Buffered multi-select, a row a block or a warp, of 16-bit rows.

#include "algorithms/buffered_multi_select/block/launches.cuh"

namespace kselect::bms {

template call_plan block_plan<float16>(const block_variant&, const problem&, const device&);

}  // namespace kselect::bms
