// Buffered multi-select of ragged rows, a row a block or a warp, of float64 rows.

#include "algorithms/buffered_multi_select/block/ragged_launches.cuh"

namespace kselect::bms {

template call_plan ragged_plan<double>(const block_variant&, const problem&, const device&);
template call_plan cut_plan<double>(const problem&, const device&);

}  // namespace kselect::bms
