#pragma once
// The battery's case for entries that put NaN last or first.

namespace kselect::harness {

class battery_attempt;

// Rows with NaNs of both signs, from few to all, in every declared type, payload and layout. All
// are beyond the limits of an entry that declares the total order alone.
void nan_last_or_first(battery_attempt&);

}  // namespace kselect::harness
