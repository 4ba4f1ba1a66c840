#include "runtime/backend/host_backend.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <latch>
#include <sched.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "kselect/simt/test_device.hpp"
#include "runtime/backend/host_ceilings.hpp"
#include "runtime/backend/host_memory.hpp"
#include "runtime/backend/shared_cut.hpp"
#include "runtime/backend/ticks.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"

namespace kselect::runtime {
namespace {

// The value after `key` in the first line of `file` that starts with it.
std::string line_value(const char* file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t start = line.find_first_not_of(" \t:", key.size());
    return start == std::string::npos ? std::string{} : line.substr(start);
  }
  return {};
}

std::size_t last_level_cache() {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

class host_backend final : public backend {
 public:
  host_backend(executor_kind kind, int threads, const simt::fiber_options& fiber) : fiber_(fiber) {
    threads = threads_to_use(threads);
    if (kind == executor_kind::fiber) {
      device_ = simt::test_device(threads);
      require_cut(device_);
    } else {
      device_.name = line_value("/proc/cpuinfo", "model name");
      device_.threads = threads;
    }
    device_.memory_bytes = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                           static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
    device_.cache_bytes = last_level_cache();
    nanoseconds_per_tick();  // begins to measure it
  }

  const device& description() const override { return device_; }
  kselect::executor executor() const override {
    return {.device = &device_, .stream = nullptr, .fiber = &fiber_};
  }

  std::byte* allocate(std::size_t bytes) override { return allocate_host(bytes); }
  void release(std::byte* memory) noexcept override { std::free(memory); }

  void to_device(std::byte* to, std::span<const std::byte> from) override {
    copy(to, from.data(), from.size());
  }
  void to_host(std::span<std::byte> to, const std::byte* from) override {
    copy(to.data(), from, to.size());
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  status synchronise() override { return {}; }

  timed_run time(const std::function<status()>& enqueue, bool) override {
    return wall_time(enqueue);
  }
  const char* clock_name() const override { return "steady"; }

  void evict(std::span<const memory_range> working_set) override { evict_host(working_set); }
  memory_ceilings measure_ceilings() override {
    return measure_host_ceilings(device_.threads, device_.cache_bytes);
  }
  std::optional<double> seconds_to_read(memory_range bytes, int threads, int readings) override {
    return kselect::runtime::seconds_to_read(bytes, threads, readings);
  }

 private:
  device device_;
  simt::fiber_options fiber_;
};

}  // namespace

int available_threads() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return CPU_COUNT(&allowed);
}

int threads_to_use(int asked) {
  const int available = available_threads();
  if (asked == 0) return available;
  if (asked <= available) return asked;
  // OpenMP keeps all of them at a time, so they must exist at a time here.
  std::latch all_run(1);
  std::vector<std::jthread> trial;
  try {
    while (std::ssize(trial) < asked) trial.emplace_back([&] { all_run.wait(); });
  } catch (const std::system_error& refused) {
    const std::size_t started = trial.size();
    all_run.count_down();
    throw error(failure::resources,
                fmt::format("--threads {}: only {} could be started ({}); give a smaller number, "
                            "best at most the {} that this process may use",
                            asked, started, refused.what(), amount_of(available, "processor")));
  }
  all_run.count_down();
  return asked;
}

std::unique_ptr<backend> open_host_backend(executor_kind kind, int threads,
                                           const simt::fiber_options& fiber) {
  return std::make_unique<host_backend>(kind, threads, fiber);
}

}  // namespace kselect::runtime
