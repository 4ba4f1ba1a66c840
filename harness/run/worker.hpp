#pragma once
// A worker process: runs cell groups for a parent that holds the journal, so that a crash, a hang
// or a CUDA error that no later call recovers from costs one cell and not the sweep.
//
// The parent writes one line of setup, then a line a group; the worker answers with a line for each
// finished cell (its record, see harness/record) and lines that are events:
//
//   -> {"config":{...},"file":"...","dataset":null,"filter":null,"executor":null,"ceilings":{...}}
//   -> {"group":["<key>", ...]}
//   <- {"event":"ceilings","executor":"cpu","read":...,"copy":...,"cached_read":...}
//   <- {"schema":1,"key":...}          one for each cell that ended
//   <- {"event":"done","retired":false}
//   <- {"event":"failed","category":3,"message":"..."}   the whole sweep cannot go on
//
// After a wrong answer or an error it retires: what it did to its memory, or to its CUDA context,
// must not meet the next cell. The parent then sends the rest of the group to a new one.

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "harness/run/group.hpp"

namespace kselect {

inline constexpr std::string_view worker_command = "worker";
inline constexpr int worker_socket = 3;  // descriptors in the worker
inline constexpr int worker_page = 4;

// The worker's main loop; returns its exit code when the parent closes the socket.
int serve_worker();

nlohmann::ordered_json to_json(const memory_ceilings& ceilings);
memory_ceilings ceilings_from(const nlohmann::ordered_json& object);

}  // namespace kselect
