// Buffered multi-select, several blocks a row, of float32 rows.

#include "algorithms/buffered_multi_select/grid_launches.cuh"

namespace kselect::bms {

template support grid_supports<float>(const grid_variant&, const problem&, const device&);
template std::size_t grid_workspace<float>(const grid_variant&, const problem&, const device&);
template status grid_enqueue<float>(const grid_variant&, const problem&, const io&,
                                    std::span<std::byte>, const executor&);

}  // namespace kselect::bms
