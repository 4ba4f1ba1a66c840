#include "harness/run/plugins_of_config.hpp"

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "runtime/plugins/plugins.hpp"

namespace kselect::harness {

void load_plugins_of(const sweep_config& config) {
  for (std::size_t i = 0; i < config.plugins.size(); ++i) {
    const auto file = dataset_path(config, config.plugins[i]);
    try {
      runtime::load_plugin(file);
    } catch (const runtime::error& why) {
      throw runtime::error(why.category(),
                           fmt::format("{}: /plugins/{}: {}", config.file_name, i, why.what()));
    }
  }
}

}  // namespace kselect::harness
