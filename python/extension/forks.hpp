#pragma once
// What a process that is forked keeps of this one, as multiprocessing and data loaders fork.

namespace kselect::python {

// From now on the threads of the calling thread's selections and searches end before each fork, on
// both sides; the next call starts new ones. In the new process they would not be there, and
// OpenMP would wait for them without end.
void end_threads_before_forks();

}  // namespace kselect::python
