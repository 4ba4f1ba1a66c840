#pragma once
// The plug-ins that a config names.

#include "harness/config/config.hpp"

namespace kselect::harness {

// Loads them, so that their entries are there before the sweep is planned. Throws as
// runtime::load_plugin does, with the config's file and the entry of its list.
void load_plugins_of(const sweep_config& config);

}  // namespace kselect::harness
