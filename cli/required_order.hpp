#pragma once
// Commands whose user may ask for an answer in order.

#include <string>

#include "cli/commands.hpp"
#include "kselect/requirements.hpp"

namespace kselect::cli {

// --sorted and --stable.
void option_order(CLI::App& command, requirements& wanted);

// The entry of that name or, if it does not promise what is wanted, its form that does, such as
// auto+sorted for auto; throws error(failure::usage) if there is none.
const registered& require_algorithm(const std::string& name, const requirements& wanted);

}  // namespace kselect::cli
