// Buffered multi-select, several blocks a row, of 16-bit rows.

#include "algorithms/buffered_multi_select/grid/launches.cuh"

namespace kselect::bms {

template call_plan grid_plan<float16>(const grid_variant&, const problem&, const device&);
template call_plan grid_plan_in_order<float16>(const grid_variant&, const problem&, const device&);

}  // namespace kselect::bms
