// Lookup in the generated table. It is built on first use, and again after an addition.

#include "kselect/registry.hpp"

#include <algorithm>
#include <deque>

#include "src/registry_table.hpp"

namespace kselect {
namespace {

std::vector<detail::entry_file>& added_files() {
  static std::vector<detail::entry_file> files;
  return files;
}

std::string_view stem_of(std::string_view file) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return name.substr(0, name.find('.'));
}

// Whether the build asked for this entry. Its file may be linked only for another of its entries,
// or because another entry is composed of this one.
bool asked_for(const algorithm& entry, std::string_view file) {
  return std::ranges::any_of(detail::built_globs(), [&](std::string_view glob) {
    return matches(glob, entry.name) || matches(glob, stem_of(file));
  });
}

std::vector<registered> collect() {
  std::vector<registered> table;
  const auto append = [&](std::span<const detail::entry_file> files) {
    for (const auto& file : files) {
      for (const algorithm& entry : file.entries()) {
        if (file.outside || asked_for(entry, file.file)) {
          table.push_back({&entry, file.file, file.source_hash});
        }
      }
    }
  };
  append(detail::entry_files());
  append(added_files());
  return table;
}

// The newest table last. Cells and callers hold rows of older ones.
std::deque<std::vector<registered>>& tables() {
  static std::deque<std::vector<registered>> all;
  return all;
}

const std::vector<registered>& first_table() {
  static const auto& first = tables().emplace_back(collect());  // once, if many threads come
  return first;
}

}  // namespace

void detail::add_entry_file(const entry_file& file) {
  added_files().push_back(file);
  if (!tables().empty()) tables().push_back(collect());
}

void detail::put_entry_file(const entry_file& file) {
  std::erase_if(added_files(),
                [&](const entry_file& added) { return added.entries == file.entries; });
  add_entry_file(file);
}

std::span<const registered> registry() {
  first_table();
  return tables().back();
}

std::span<const absent_file> absent_files() { return detail::absent_files(); }

std::string built_globs() {
  std::string all;
  for (const std::string_view glob : detail::built_globs()) {
    if (glob == "*") return {};
    all.append(all.empty() ? "" : ";").append(glob);
  }
  return all;
}

bool is_left_out(std::string_view name) {
  if (find_algorithm(name) != nullptr) return false;
  // An entry may be linked only because another one is composed of it.
  for (const detail::entry_file& file : detail::entry_files()) {
    for (const algorithm& entry : file.entries()) {
      if (entry.name == name) return true;
    }
  }
  return std::ranges::any_of(absent_files(), [&](const absent_file& file) {
    const std::string all = ", " + std::string(file.entries) + ",";
    return all.find(", " + std::string(name) + ",") != std::string::npos;
  });
}

std::string left_out_hint() {
  const std::string globs = built_globs();
  if (globs.empty()) return {};
  return "; this program was built with KSELECT_ALGORITHMS='" + globs + "' alone";
}

const registered* find_algorithm(std::string_view name) {
  const auto table = registry();
  const auto found = std::ranges::find_if(
      table, [&](const registered& entry) { return entry.algorithm->name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::vector<const registered*> match_algorithms(std::string_view glob) {
  std::vector<const registered*> found;
  for (const registered& entry : registry()) {
    if (matches(glob, entry.algorithm->name)) found.push_back(&entry);
  }
  return found;
}

std::vector<std::string> nearest_algorithms(std::string_view name, std::size_t count) {
  std::vector<std::string_view> all;
  for (const registered& entry : registry()) all.push_back(entry.algorithm->name);
  return nearest_names(name, all, count);
}

}  // namespace kselect
