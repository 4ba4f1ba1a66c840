#include "runtime/backend/cuda/green_context.hpp"

// Compiled in every build; empty if the configuration found no CUDA.
#if KSELECT_HAS_CUDA

#include <algorithm>
#include <cuda.h>
#include <dlfcn.h>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "runtime/backend/cuda/queries.hpp"
#include "runtime/error.hpp"

namespace kselect::runtime {
namespace {

[[noreturn]] void refuse(int wanted, const std::string& why) {
  throw error(failure::usage, fmt::format("measure.multiprocessors = {}: {}", wanted, why));
}

}  // namespace

#if CUDA_VERSION >= 12040
namespace {

constexpr char library_name[] = "libcuda.so.1";
// CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, as a number: it is younger than the function.
constexpr unsigned without_clusters = 1;

// The functions of the driver that are used here.
struct driver {
  decltype(&::cuGetErrorName) error_name;
  decltype(&::cuInit) init;
  decltype(&::cuDeviceGet) device_get;
  decltype(&::cuDeviceGetDevResource) resource_of;
  decltype(&::cuDevSmResourceSplitByCount) split;
  decltype(&::cuDevResourceGenerateDesc) describe;
  decltype(&::cuGreenCtxCreate) create;
  decltype(&::cuGreenCtxDestroy) destroy;
  decltype(&::cuCtxFromGreenCtx) context_of;
  decltype(&::cuCtxSetCurrent) set_current;
  decltype(&::cuCtxGetCurrent) get_current;
  std::string missing;  // the reason if one is not there

  driver() {
    // Never closed: the CUDA runtime keeps the library open, too.
    void* const library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      missing = dlerror();
      return;
    }
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr && missing.empty()) {
        missing = fmt::format(
            "the driver has no green contexts (no {} in {}): it must serve CUDA 12.4 or newer",
            name, library_name);
      }
    };
    find(error_name, "cuGetErrorName");
    find(init, "cuInit");
    find(device_get, "cuDeviceGet");
    find(resource_of, "cuDeviceGetDevResource");
    find(split, "cuDevSmResourceSplitByCount");
    find(describe, "cuDevResourceGenerateDesc");
    find(create, "cuGreenCtxCreate");
    find(destroy, "cuGreenCtxDestroy");
    find(context_of, "cuCtxFromGreenCtx");
    find(set_current, "cuCtxSetCurrent");
    find(get_current, "cuCtxGetCurrent");
  }

  std::string words(CUresult code) const {
    const char* name = nullptr;
    return error_name(code, &name) == CUDA_SUCCESS ? std::string(name)
                                                   : fmt::format("error {}", int{code});
  }
  void require(CUresult code, const char* what) const {
    if (code == CUDA_SUCCESS) return;
    throw error(failure::unsupported, fmt::format("{} failed: {}", what, words(code)));
  }
};

const driver& the_driver() {
  static const driver found;
  return found;
}

// The green context that the calling thread entered last; null if it left.
thread_local CUcontext entered = nullptr;

// One group of at least `wanted` multiprocessors of `all`; empty if the driver makes none.
std::optional<CUdevResource> group_of(const CUdevResource& all, unsigned wanted, unsigned flags) {
  CUdevResource group{}, rest{};
  unsigned groups = 1;
  const CUresult code = the_driver().split(&group, &groups, &all, &rest, flags, wanted);
  if (code != CUDA_SUCCESS || groups != 1 || group.sm.smCount < wanted) return std::nullopt;
  return group;
}

// Without flags the driver rounds up to what large thread-block clusters need: to a multiple of 8
// on compute capability 9.0. No entry uses clusters, so the finer groups serve as well.
std::optional<CUdevResource> least_group(const CUdevResource& all, unsigned wanted) {
  const auto usual = group_of(all, wanted, 0);
  if (usual && usual->sm.smCount == wanted) return usual;
  const auto fine = group_of(all, wanted, without_clusters);
  if (!usual || (fine && fine->sm.smCount < usual->sm.smCount)) return fine;
  return usual;
}

}  // namespace

struct green_context::part {
  CUdevice device = 0;
  CUdevResource chosen{};
  int of = 0;
  CUgreenCtx green = nullptr;
  CUcontext context = nullptr;

  part(int number, int wanted) {
    const driver& cuda = the_driver();
    if (!cuda.missing.empty()) refuse(wanted, cuda.missing);
    cuda.require(cuda.init(0), "cuInit");
    cuda.require(cuda.device_get(&device, number), "cuDeviceGet");
    const std::string name = properties_of(number).name;
    CUdevResource all{};
    const CUresult code = cuda.resource_of(device, &all, CU_DEV_RESOURCE_TYPE_SM);
    if (code != CUDA_SUCCESS) {
      refuse(wanted, fmt::format("the {} cannot be divided: {}", name, cuda.words(code)));
    }
    of = static_cast<int>(all.sm.smCount);
    if (wanted > of) refuse(wanted, fmt::format("the {} has {} multiprocessors", name, of));
    const auto group = least_group(all, static_cast<unsigned>(wanted));
    if (!group) {
      refuse(wanted, fmt::format("the driver sets no group of so many aside on the {}, which has "
                                 "{} multiprocessors; ask for fewer",
                                 name, of));
    }
    chosen = *group;
  }

  void create() {
    const driver& cuda = the_driver();
    // A context of the whole GPU first: the driver would otherwise start it for each green one.
    require(cudaSetDevice(device), "cudaSetDevice");
    CUdevResourceDesc what = nullptr;
    cuda.require(cuda.describe(&what, &chosen, 1), "cuDevResourceGenerateDesc");
    cuda.require(cuda.create(&green, what, device, CU_GREEN_CTX_DEFAULT_STREAM),
                 "cuGreenCtxCreate");
    cuda.require(cuda.context_of(&context, green), "cuCtxFromGreenCtx");
  }

  ~part() {
    if (green == nullptr) return;
    const driver& cuda = the_driver();
    CUcontext now = nullptr;
    if (cuda.get_current(&now) == CUDA_SUCCESS && now == context) cuda.set_current(nullptr);
    if (entered == context) entered = nullptr;
    cuda.destroy(green);
  }
};

green_context::green_context(int number, int wanted)
    : part_(std::make_unique<part>(number, wanted)) {}
green_context::~green_context() = default;

int green_context::multiprocessors() const { return static_cast<int>(part_->chosen.sm.smCount); }
int green_context::of() const { return part_->of; }

void green_context::enter() {
  const driver& cuda = the_driver();
  if (part_->green == nullptr) {
    leave(part_->device);
    part_->create();
  }
  CUcontext now = nullptr;
  cuda.require(cuda.get_current(&now), "cuCtxGetCurrent");
  if (now != part_->context) cuda.require(cuda.set_current(part_->context), "cuCtxSetCurrent");
  entered = part_->context;
}

void green_context::leave(int number) {
  if (entered == nullptr) return;
  entered = nullptr;
  the_driver().require(the_driver().set_current(nullptr), "cuCtxSetCurrent");
  require(cudaSetDevice(number), "cudaSetDevice");
}

#else  // an older toolkit

struct green_context::part {};

green_context::green_context(int, int wanted) {
  refuse(wanted, fmt::format("green contexts need CUDA 12.4, this program was built with {}.{}",
                             CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10));
}
green_context::~green_context() = default;
int green_context::multiprocessors() const { return 0; }
int green_context::of() const { return 0; }
void green_context::enter() {}
void green_context::leave(int) {}

#endif

}  // namespace kselect::runtime

#endif
