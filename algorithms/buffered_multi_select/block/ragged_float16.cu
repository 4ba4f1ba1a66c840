// Buffered multi-select of ragged rows, a row a block or a warp, of 16-bit rows of either type.

#include "algorithms/buffered_multi_select/block/ragged_launches.cuh"

namespace kselect::bms {

template call_plan ragged_plan<float16>(const block_variant&, const problem&, const device&);
template call_plan cut_plan<float16>(const problem&, const device&);

}  // namespace kselect::bms
