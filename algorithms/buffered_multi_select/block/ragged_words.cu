// Buffered multi-select of ragged rows, a row a block or a warp, of words of 32 and of 8 bits.

#include "algorithms/buffered_multi_select/block/ragged_launches.cuh"

namespace kselect::bms {

template call_plan ragged_plan<word<std::uint32_t>>(const block_variant&, const problem&,
                                                    const device&);
template call_plan ragged_plan<word<std::uint8_t>>(const block_variant&, const problem&,
                                                   const device&);
template call_plan cut_plan<word<std::uint32_t>>(const problem&, const device&);
template call_plan cut_plan<word<std::uint8_t>>(const problem&, const device&);

}  // namespace kselect::bms
