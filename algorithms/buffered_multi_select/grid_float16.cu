// Buffered multi-select, several blocks a row, of 16-bit rows.

#include "algorithms/buffered_multi_select/grid_launches.cuh"

namespace kselect::bms {

template support grid_supports<float16>(const grid_variant&, const problem&, const device&);
template std::size_t grid_workspace<float16>(const grid_variant&, const problem&, const device&);
template status grid_enqueue<float16>(const grid_variant&, const problem&, const io&,
                                      std::span<std::byte>, const executor&);

}  // namespace kselect::bms
