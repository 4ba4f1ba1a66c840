#pragma once
// A worker process runs cell groups for a parent that keeps the journal. A crash, a hang or a
// sticky CUDA error then costs one cell and not the sweep.
//
// The parent writes one line of setup, then one line a group. The worker answers with a line for
// each finished cell (its record, see harness/record) and with events:
//
//   -> {"input":{...},"on_gpu":false,"threads":2,"policy":{...},"ceilings":{...},"description":...,
//      "plugins":[{"file":...,"hash":...}]}
//   -> {"group":[{"key":...,"algorithm":...,"executor":...,"problem":{...}}, ...]}
//   <- {"event":"ceilings","executor":"cpu","read":...,"copy":...,"cached_read":...}
//   <- {"schema":1,"key":...}          one for each cell that ended
//   <- {"event":"done","retired":false}
//   <- {"event":"failed","category":3,"message":"..."}   the whole sweep cannot go on
//
// After a wrong answer or an error the worker retires: its memory or its CUDA context may be
// damaged. The parent sends the rest of the group to a new worker.

#include <string_view>

namespace kselect::harness {

inline constexpr std::string_view worker_command = "worker";
inline constexpr int worker_socket = 3;  // descriptors in the worker
inline constexpr int worker_page = 4;

// The worker's main loop; returns its exit code when the parent closes the socket.
int serve_worker();

}  // namespace kselect::harness
