#pragma once
// Plans of recent calls on GPUs. To plan takes longer than to launch a small selection, and
// programs repeat their calls.

#include "kselect/select.hpp"
#include "python/extension/request.hpp"

namespace kselect::python {

// The plan of this call on `where`, which is GPU number `gpu`. Any thread may ask.
select_plan plan_for(const request& asked, const place& where, int gpu);

}  // namespace kselect::python
