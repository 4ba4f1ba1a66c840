#pragma once
// A stack that is large enough, whatever limit the process was started with.

#include <functional>

namespace kselect::runtime {

// Calls work() and returns its result: here, or on a thread with a stack of its own if `ulimit -s`
// is below 1 MiB. Threads that are made later get a large stack, too. Without memory for one,
// calls work() here.
int on_large_stack(const std::function<int()>& work);

}  // namespace kselect::runtime
