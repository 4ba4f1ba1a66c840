#pragma once
// The interface between the program and its MPI module. Both are always built together.

namespace kselect::search {

class communicator;

inline constexpr char mpi_module_name[] = "kselect_mpi.so";
inline constexpr char mpi_module_symbol[] = "kselect_open_mpi";
// Initialises MPI. The caller owns the result, whose destructor finalises MPI.
using open_communicator = communicator*(double wait_limit_s);

}  // namespace kselect::search
