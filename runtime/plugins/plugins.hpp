#pragma once
// Plug-ins: shared objects whose entries join the registry (kselect/plugin.hpp). They are loaded
// once, stay loaded, and are known by their file and its hash: these are registered::file and
// registered::source_hash of their entries.

#include <filesystem>
#include <span>
#include <string>

#include "kselect/plugin.hpp"

namespace kselect::runtime {

struct loaded_plugin {
  std::string file;     // absolute, without links
  std::string hash;     // 16 hexadecimal digits, of the file
  std::string version;  // of the headers that it was built with
  const kselect::plugin* exported;
};

// Adds the entries of a plug-in to the registry. A plug-in that is loaded already is left as it is.
// Not while another thread uses the registry.
//
// Throws failure::input, naming the file and what to do, if it is missing, no shared object, no
// plug-in, or built for another ABI, or if an entry of it makes no sense; failure::usage if an
// entry's name is taken.
const loaded_plugin& load_plugin(const std::filesystem::path& file);

// The same in a process that goes on with another one's work. Throws failure::input if the file's
// hash differs: it changed since.
void load_plugin(const std::filesystem::path& file, const std::string& hash);

// In the order in which they were loaded. Their addresses last as long as the program.
std::span<const loaded_plugin* const> loaded_plugins();

// The plug-in of that file, which is registered::file of its entries; null: the file is of this
// program.
const loaded_plugin* find_plugin(std::string_view file);

}  // namespace kselect::runtime
