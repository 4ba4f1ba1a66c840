#pragma once
// For commands whose user may ask for an ordered answer.

#include <string>

#include "cli/commands.hpp"
#include "kselect/order.hpp"
#include "kselect/requirements.hpp"

namespace kselect::cli {

// Adds --sorted and --stable.
void option_order(CLI::App& command, requirements& wanted);
// Adds --nan.
void option_nan(CLI::App& command, nan_order& place);

// The entry of that name, or its variant with the wanted promises, such as auto+sorted for auto.
// Throws error(failure::usage) if there is neither.
const registered& require_algorithm(const std::string& name, const requirements& wanted);

}  // namespace kselect::cli
