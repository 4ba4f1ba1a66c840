// Plug-ins that the program must refuse, one for each value of KSELECT_REFUSED (CMakeLists.txt).

#include "tests/plugins/entry.hpp"

namespace kselect::entries {

static std::span<const algorithm> refused_entries() {
#if KSELECT_REFUSED == 3
  static const std::array all = {outside<&first_k>("cpu/sort")};
#elif KSELECT_REFUSED == 4
  static const std::array all = {outside<&first_k>("twice"), outside<&first_k>("twice")};
#elif KSELECT_REFUSED == 5
  static const std::array all = {outside<&first_k>("a name")};
#elif KSELECT_REFUSED == 6
  static const std::array all = [] {
    std::array idle = {outside<&first_k>("idle")};
    idle.front().plan = nullptr;
    return idle;
  }();
#else
  static const std::array all = {outside<&first_k>("refused")};
#endif
  return all;
}

}  // namespace kselect::entries

namespace {
constexpr kselect::plugin_source sources[] = {{&kselect::entries::refused_entries, __FILE__}};
}

extern "C" {
[[gnu::visibility("default")]] extern const kselect::plugin kselect_plugin;
const kselect::plugin kselect_plugin = {
#if KSELECT_REFUSED == 1
    .abi = kselect::plugin_abi + 1,
    .version = "7.8.9",
#elif KSELECT_REFUSED == 2
    .sizes = {.problem = sizeof(kselect::problem) + 8},
#endif
    .sources = sources,
    .source_count = 1};
}
