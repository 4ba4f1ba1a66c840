#pragma once
// Configs by name: `kselect run quick` finds configs/quick.json from any folder.

#include <filesystem>
#include <set>
#include <string>

namespace kselect::cli {

// The file that `given` names: a path of a file; or a stock config as `quick`, `quick.json` or
// `configs/quick.json`, in the first of these folders that has it: ./configs, the folder of an
// installed program (../share/kselect/configs from the executable), and the source tree that the
// program was built from. Throws error(failure::input) that names what was searched and the nearest
// names. A path in another folder is returned as it is, whether or not it exists.
std::filesystem::path config_path(const std::string& given);

// The names of the stock configs that this program finds from every folder, for shell completion.
std::set<std::string> stock_config_names();

}  // namespace kselect::cli
