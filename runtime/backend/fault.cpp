#include "runtime/backend/fault.hpp"

#include <algorithm>
#include <array>

namespace kselect::runtime {
namespace {

constexpr std::string_view find_access =
    "the CUDA context is lost with it; to see where, run the cell alone: compute-sanitizer kselect "
    "run CONFIG --in-process --filter CELL";
constexpr std::string_view find_assertion =
    "the CUDA context is lost with it; the assertion is among what was printed to stderr";
constexpr std::string_view shorten_run =
    "the CUDA context is lost with it; a GPU that also draws a screen ends long kernels: take "
    "another GPU, or a smaller problem";
constexpr std::string_view look_at_gpu =
    "the CUDA context is lost with it, and the GPU may be failing: see nvidia-smi -q and Xid "
    "errors "
    "in dmesg";

struct fault {
  std::string_view name, advice;
};
constexpr std::array faults = {
    fault{"cudaErrorIllegalAddress", find_access},
    fault{"cudaErrorMisalignedAddress", find_access},
    fault{"cudaErrorInvalidAddressSpace", find_access},
    fault{"cudaErrorInvalidPc", find_access},
    fault{"cudaErrorIllegalInstruction", find_access},
    fault{"cudaErrorHardwareStackError", find_access},
    fault{"cudaErrorTensorMemoryLeak", find_access},
    fault{"cudaErrorLaunchFailure", find_access},
    fault{"cudaErrorAssert", find_assertion},
    fault{"cudaErrorLaunchTimeout", shorten_run},
    fault{"cudaErrorECCUncorrectable", look_at_gpu},
    fault{"cudaErrorNvlinkUncorrectable", look_at_gpu},
    fault{"cudaErrorContained", look_at_gpu},
};

}  // namespace

std::string_view advice_on_fault(std::string_view error_name) {
  const auto found = std::ranges::find(faults, error_name, &fault::name);
  return found == faults.end() ? std::string_view() : found->advice;
}

}  // namespace kselect::runtime
