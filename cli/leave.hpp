#pragma once

namespace kselect::cli {

// From here on, exit() ends a process whose address space is limited (`ulimit -v`) without the
// destructors of libraries. OpenBLAS starts threads when it is loaded. Such a thread may find no
// memory for its buffer. It then asks for ever, and OpenBLAS's destructor waits for it for ever.
//
// Until work_is_done(), exit(1) is a call of libgomp, which found no memory or no thread. It
// becomes an error of the program, with the exit code of failure::resources.
void watch_exit();
void work_is_done();

}  // namespace kselect::cli
