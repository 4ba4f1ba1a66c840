#include "src/gpu_device.hpp"

#include <charconv>
#include <cstdlib>

namespace kselect {

#if KSELECT_HAS_CUDA
device describe_gpu(const cudaDeviceProp& properties) {
  device d;
  d.kind = executor_kind::cuda;
  d.name = properties.name;
  d.multiprocessors = properties.multiProcessorCount;
  d.resident_threads = properties.maxThreadsPerMultiProcessor;
  d.compute_capability = 10 * properties.major + properties.minor;
  d.shared_bytes = properties.sharedMemPerBlockOptin;
  d.memory_bytes = properties.totalGlobalMem;
  d.cache_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  return d;
}
#endif

std::string shared_cut() {
  const char* const set = std::getenv(shared_cut_variable);
  return set == nullptr ? "" : set;
}

std::string cut_shared_memory(device& where) {
  constexpr int least = 48;  // KiB: the static limit, which every GPU has
  const std::string text = shared_cut();
  if (text.empty()) return {};
  int kib = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), kib);
  if (wrong != std::errc{} || end != text.data() + text.size() || kib < least) {
    return std::string(shared_cut_variable) + "=" + text + ": give a number of KiB from " +
           std::to_string(least) + ", or unset it";
  }
  const std::size_t bytes = static_cast<std::size_t>(kib) << 10;
  if (bytes >= where.shared_bytes) return {};
  where.shared_bytes = bytes;
  where.name += " (cut to " + std::to_string(kib) + " KiB of shared memory a block)";
  return {};
}

}  // namespace kselect
