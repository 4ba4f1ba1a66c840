// Loads the module that links MPI.

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "search/exchange/communicator.hpp"
#include "search/exchange/mpi_module.hpp"
#include "search/search.hpp"

namespace kselect::search {

std::unique_ptr<communicator> open_mpi(double wait_limit_s) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path module = program.parent_path() / mpi_module_name;
  if (!std::filesystem::exists(module)) {
    throw error(failure::unsupported,
                fmt::format("this build has no MPI: {} is not beside the program; build where MPI "
                            "is found (Debian: libopenmpi-dev, openmpi-bin)",
                            mpi_module_name));
  }
  // RTLD_GLOBAL, because MPI libraries load plugins that look for their symbols. Never closed,
  // because MPI may have threads.
  void* const library = dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const symbol = library == nullptr ? nullptr : dlsym(library, mpi_module_symbol);
  if (symbol == nullptr) {
    throw error(failure::unsupported,
                fmt::format("{} cannot be loaded: {}", module.string(), dlerror()));
  }
  return std::unique_ptr<communicator>(reinterpret_cast<open_communicator*>(symbol)(wait_limit_s));
}

}  // namespace kselect::search
