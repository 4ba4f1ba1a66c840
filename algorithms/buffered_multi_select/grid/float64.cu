// Buffered multi-select, several blocks a row, of float64 rows.

#include "algorithms/buffered_multi_select/grid/launches.cuh"

namespace kselect::bms {

template call_plan grid_plan<double>(const grid_variant&, const problem&, const device&);
template call_plan grid_plan_in_order<double>(const grid_variant&, const problem&, const device&);

}  // namespace kselect::bms
