// Buffered multi-select, several blocks a row, of words of 32 and of 8 bits.

#include "algorithms/buffered_multi_select/grid/launches.cuh"

namespace kselect::bms {

template call_plan grid_plan<word<std::uint32_t>>(const grid_variant&, const problem&,
                                                  const device&);
template call_plan grid_plan<word<std::uint8_t>>(const grid_variant&, const problem&,
                                                 const device&);
template call_plan grid_plan_in_order<word<std::uint32_t>>(const grid_variant&, const problem&,
                                                           const device&);
template call_plan grid_plan_in_order<word<std::uint8_t>>(const grid_variant&, const problem&,
                                                          const device&);

}  // namespace kselect::bms
