#pragma once

namespace kselect::cli {

// Lets idle threads of OpenMP sleep, unless the environment says what they do. By default they spin
// for a while. Several ranks have several teams of threads, and on some hosts those that spin take
// the processors from those that work.
//
// libgomp reads its environment when it is loaded. So this begins the program again, with
// OMP_WAIT_POLICY=passive. Call it before anything is opened. If the system does not allow it, it
// does nothing.
void let_idle_threads_sleep();

}  // namespace kselect::cli
