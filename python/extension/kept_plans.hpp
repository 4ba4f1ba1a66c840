#pragma once
// Plans of recent calls. To plan takes longer than to launch a small selection, and programs repeat
// their calls.

#include "kselect/select.hpp"
#include "python/extension/request.hpp"

namespace kselect::python {

// The plan of this call on `where`, which `number` tells from other places: a GPU's number, or one
// below 0 for the host with so many threads. Any thread may ask.
select_plan plan_for(const request& asked, const place& where, int number);

}  // namespace kselect::python
