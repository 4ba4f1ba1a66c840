#pragma once
// The battery's case for entries that declare ragged rows.

namespace kselect::harness {

class battery_attempt;

// Rows of lengths around 0, k, warps, tiles and n, that begin anywhere, by lengths, by lengths and
// starts, by starts alone, and as segments. Types, payloads and directions take turns. All are
// beyond the limits of an entry that does not declare such rows.
void rows_of_their_own_lengths(battery_attempt&);

}  // namespace kselect::harness
