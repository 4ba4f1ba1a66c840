// Buffered multi-select, a row a block or a warp, of words of 32 and of 8 bits.

#include "algorithms/buffered_multi_select/block/launches.cuh"

namespace kselect::bms {

template call_plan block_plan<word<std::uint32_t>>(const block_variant&, const problem&,
                                                   const device&);
template call_plan block_plan<word<std::uint8_t>>(const block_variant&, const problem&,
                                                  const device&);

}  // namespace kselect::bms
