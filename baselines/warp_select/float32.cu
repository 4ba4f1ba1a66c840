// Warp selection from float32 rows.

#include "baselines/warp_select/selection.cuh"

namespace kselect::warp_select {

template status select_rows<float>(int, const problem&, const io&, const executor&);

}  // namespace kselect::warp_select
