#pragma once
// A plug-in: entries in a shared object of their own, which `kselect --plugin FILE` adds to its
// registry. Its source is a file of entries like any other (algorithm.hpp), built by
//
//     find_package(kselect REQUIRED)
//     kselect_add_plugin(mine mine.cu)      # mine.cu defines kselect::entries::mine()
//
// or, without CMake, ended by KSELECT_PLUGIN(mine) and compiled as a shared object.
//
// Program and plug-in exchange C++ structs, whose layout is fixed for one version of these headers
// alone. So a plug-in exports one C object that says what it was built with. The program reads its
// first members, which keep their place in all versions, and refuses a plug-in of another ABI.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "kselect/algorithm.hpp"
#include "kselect/simt/counters.hpp"
#include "kselect/simt/fiber_options.hpp"

namespace kselect {

namespace simt {
class launch_notes;
namespace detail {
// Notes this thread's launches; null: no more. Weak: a plug-in without kernels has no seam.
[[gnu::weak]] void note_launches_in(launch_notes* notes);
}  // namespace detail
}  // namespace simt

// The version of these headers. CMakeLists.txt holds the same.
inline constexpr char library_version[] = "0.1.0";

// Raised by every change of a struct below, or of what its members mean.
inline constexpr std::uint32_t plugin_abi = 5;

// The exported symbol.
inline constexpr char plugin_symbol[] = "kselect_plugin";

// Bytes of what crosses the border. Another compiler or standard library may differ in them.
struct plugin_sizes {
  std::uint32_t algorithm = sizeof(kselect::algorithm);
  std::uint32_t contract = sizeof(kselect::contract);
  std::uint32_t problem = sizeof(kselect::problem);
  std::uint32_t device = sizeof(kselect::device);
  std::uint32_t executor = sizeof(kselect::executor);
  std::uint32_t io = sizeof(kselect::io);
  std::uint32_t status = sizeof(kselect::status);
  std::uint32_t call_plan = sizeof(kselect::call_plan);
  std::uint32_t fiber_options = sizeof(simt::fiber_options);
  std::uint32_t counters = sizeof(simt::counters);
  std::uint32_t string = sizeof(std::string);
  bool operator==(const plugin_sizes&) const = default;
};

struct plugin_source {
  std::span<const algorithm> (*entries)();
  const char* file;  // "mine.cu"
};

struct plugin {
  // These keep their place in all versions.
  char mark[8] = {'k', 's', 'e', 'l', 'e', 'c', 't', '\0'};
  std::uint32_t abi = plugin_abi;
  std::uint32_t bytes = sizeof(plugin_sizes);
  const char* version = library_version;
  const char* compiler = __VERSION__;
  // These are read only if `abi` and `bytes` are the program's.
  plugin_sizes sizes = {};
  const plugin_source* sources = nullptr;
  std::size_t source_count = 0;
  void (*note_launches)(simt::launch_notes*) = &simt::detail::note_launches_in;
};

}  // namespace kselect

// Exports the entries of some sources: {{&kselect::entries::mine, "mine.cu"}, ...}.
#define KSELECT_EXPORT_PLUGIN(...)                                                       \
  namespace {                                                                            \
  constexpr ::kselect::plugin_source kselect_plugin_sources[] = __VA_ARGS__;             \
  }                                                                                      \
  extern "C" {                                                                           \
  [[gnu::visibility("default")]] extern const ::kselect::plugin kselect_plugin;          \
  const ::kselect::plugin kselect_plugin = {                                             \
      .sources = kselect_plugin_sources,                                                 \
      .source_count = sizeof kselect_plugin_sources / sizeof kselect_plugin_sources[0]}; \
  }                                                                                      \
  static_assert(true)

// The same for one source, in that source: KSELECT_PLUGIN(mine) for kselect::entries::mine().
#define KSELECT_PLUGIN(stem) KSELECT_EXPORT_PLUGIN({{&::kselect::entries::stem, __FILE__}})
