#pragma once
// Lengths of rows from a file: what `"lengths": {"file": "L.npy"}` names.

#include "harness/config/config.hpp"

namespace kselect::harness {

// Reads the files of lengths that a config and its parts name: int32 or int64 [at least Q], each 0
// to 2^31 - 1. Throws error(failure::input) if one is no such array, cannot be read, or changes
// while it is read; error(failure::usage) as dataset_path() does.
void read_lengths(sweep_config& config);

// Reads the file of `l` once more, for a process that knows its path and its hash. Throws
// error(failure::input) if its bytes are others.
void read_lengths_again(row_lengths& l);

}  // namespace kselect::harness
