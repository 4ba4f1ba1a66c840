#include "cli/stock_configs.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/cli.hpp"
#include "kselect/registry.hpp"
#include "runtime/error.hpp"
#include "source_tree.hpp"

namespace kselect::cli {
namespace {

using path = std::filesystem::path;

constexpr std::string_view suffix = ".json";

// Those that do not depend on the folder that the program is called in.
std::vector<path> fixed_folders() {
  std::vector<path> folders;
  std::error_code unknown;
  const path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (!unknown) {
    folders.push_back(
        (program.parent_path() / ".." / "share" / "kselect" / "configs").lexically_normal());
  }
  folders.push_back(path(source_tree) / "configs");
  return folders;
}

std::vector<path> searched_folders() {
  std::vector<path> folders = fixed_folders();
  folders.insert(folders.begin(), "configs");
  return folders;
}

// "quick" of "quick", "quick.json" and "configs/quick.json"; empty for a path elsewhere.
std::string stock_name(std::string_view given) {
  if (given.starts_with("./")) given.remove_prefix(2);
  if (given.starts_with("configs/")) given.remove_prefix(8);
  if (given.ends_with(suffix)) given.remove_suffix(suffix.size());
  return given.find('/') == std::string_view::npos ? std::string(given) : std::string();
}

// All stock configs, each name once. The schema, which lies beside them, is none.
std::set<std::string> stock_names(const std::vector<path>& folders) {
  std::set<std::string> names;
  for (const path& folder : folders) {
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(folder, none)) {
      const std::string stem = file.path().stem().string();
      if (file.path().extension() == suffix && !stem.ends_with(".schema")) names.insert(stem);
    }
  }
  return names;
}

[[noreturn]] void fail(const std::string& given, const std::string& name,
                       const std::vector<path>& folders) {
  const std::set<std::string> all = stock_names(folders);
  const std::vector<std::string_view> known(all.begin(), all.end());
  const auto near = nearest_names(name, known);
  std::vector<std::string> searched;
  for (const path& folder : folders) searched.push_back(folder.string());
  throw error(failure::input,
              fmt::format("{}: is neither a file nor a stock config{}; searched {}", given,
                          near.empty() ? std::string()
                                       : fmt::format("; did you mean {}?", fmt::join(near, " or ")),
                          fmt::join(searched, ", ")));
}

}  // namespace

std::filesystem::path config_path(const std::string& given) {
  std::error_code unknown;
  const auto kind = std::filesystem::status(given, unknown).type();
  const bool is_file = kind != std::filesystem::file_type::not_found &&
                       kind != std::filesystem::file_type::none &&
                       kind != std::filesystem::file_type::directory;
  const std::string name = stock_name(given);
  if (is_file || name.empty()) return given;
  const std::vector<path> folders = searched_folders();
  for (const path& folder : folders) {
    const path file = folder / (name + std::string(suffix));
    if (std::filesystem::is_regular_file(file, unknown)) return file;
  }
  fail(given, name, folders);
}

std::set<std::string> stock_config_names() { return stock_names(fixed_folders()); }

}  // namespace kselect::cli
