#include "runtime/plugins/plugins.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <elf.h>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "runtime/io/input_file.hpp"
#include "src/registry_table.hpp"

namespace kselect::runtime {
namespace {

constexpr std::string_view build_again =
    "build it again with this version's headers (find_package(kselect), kselect_add_plugin)";

struct loaded {
  std::deque<loaded_plugin> all;  // rows of the registry point to these strings
  std::vector<const loaded_plugin*> listed;
};

loaded& plugins() {
  static loaded of_process;
  return of_process;
}

[[noreturn]] void refuse(const std::string& file, std::string_view why) {
  throw error(failure::input, fmt::format("plug-in {}: {}", file, why));
}

// Whether all that the loader maps lies in the file: a part that is cut off is a fault (SIGBUS)
// when it is touched, and no error of dlopen.
bool is_whole(const input_file& file, const Elf64_Ehdr& elf) {
  const auto bytes = static_cast<std::uint64_t>(file.identity().bytes);
  std::vector<Elf64_Phdr> parts(elf.e_phnum);
  const std::uint64_t size = parts.size() * sizeof(Elf64_Phdr);
  if (elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phoff > bytes || size > bytes - elf.e_phoff) {
    return false;
  }
  file.read(static_cast<std::int64_t>(elf.e_phoff), std::as_writable_bytes(std::span(parts)));
  return std::ranges::all_of(parts, [&](const Elf64_Phdr& part) {
    return part.p_offset <= bytes && part.p_filesz <= bytes - part.p_offset;
  });
}

// dlopen's own words name no remedy, so what can be known before is said before.
void require_shared_object(const input_file& file, const std::string& name) {
  std::array<std::byte, sizeof(Elf64_Ehdr)> head{};
  Elf64_Ehdr elf{};
  if (file.identity().bytes >= static_cast<std::int64_t>(head.size())) {
    file.read(0, head);
    std::memcpy(&elf, head.data(), sizeof elf);
  }
  if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_type != ET_DYN) {
    refuse(name, "is no shared object; name the .so that kselect_add_plugin builds");
  }
  if (!is_whole(file, elf)) refuse(name, "is cut off; build or copy it again");
}

void* open_object(const std::string& name) {
  dlerror();
  // Local: its symbols replace none of this program's. Now: a missing one is an error here.
  if (void* const object = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return object;
  const char* const why = dlerror();
  refuse(name, fmt::format("cannot be loaded: {}; build it for this machine, and let the loader "
                           "find its libraries (LD_LIBRARY_PATH)",
                           why == nullptr ? "no reason is known" : why));
}

const plugin& exported_by(void* object, const std::string& name) {
  const auto* const found = static_cast<const plugin*>(dlsym(object, plugin_symbol));
  if (found == nullptr) {
    refuse(name, fmt::format("exports no symbol {}, so it is no plug-in of kselect; build it with "
                             "kselect_add_plugin, or end its source with KSELECT_PLUGIN(name)",
                             plugin_symbol));
  }
  return *found;
}

// How the sizes differ: "its problem has 72 bytes, ours 64".
std::string difference(const plugin_sizes& its) {
  const plugin_sizes ours;
  const std::array<std::tuple<const char*, std::uint32_t, std::uint32_t>, 11> all = {
      {{"algorithm", its.algorithm, ours.algorithm},
       {"contract", its.contract, ours.contract},
       {"problem", its.problem, ours.problem},
       {"device", its.device, ours.device},
       {"executor", its.executor, ours.executor},
       {"io", its.io, ours.io},
       {"status", its.status, ours.status},
       {"call_plan", its.call_plan, ours.call_plan},
       {"fiber_options", its.fiber_options, ours.fiber_options},
       {"counters", its.counters, ours.counters},
       {"std::string", its.string, ours.string}}};
  for (const auto& [what, theirs, own] : all) {
    if (theirs != own) return fmt::format("its {} has {} bytes, ours {}", what, theirs, own);
  }
  return {};
}

void require_same_abi(const plugin& its, const std::string& name) {
  if (std::memcmp(its.mark, plugin{}.mark, sizeof its.mark) != 0) {
    refuse(name, fmt::format("its symbol {} is not kselect's; {}", plugin_symbol, build_again));
  }
  if (its.abi != plugin_abi || its.bytes != sizeof(plugin_sizes)) {
    refuse(name, fmt::format("was built for kselect {} (plug-in ABI {}), this is kselect {} "
                             "(plug-in ABI {}); {}",
                             its.version, its.abi, library_version, plugin_abi, build_again));
  }
  if (const std::string what = difference(its.sizes); !what.empty()) {
    refuse(name,
           fmt::format("was built for kselect {} by {}, this is kselect {} by {}, and {}; {}",
                       its.version, its.compiler, library_version, __VERSION__, what, build_again));
  }
}

// The characters that names of algorithms have, of which configs make globs.
bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::ranges::all_of(name, [](char c) {
    return c > ' ' && c <= '~' && std::string_view("[]\\@*?;,").find(c) == std::string_view::npos;
  });
}

void require_sound(const algorithm& entry, const std::string& file) {
  if (!is_name(entry.name)) {
    refuse(file, fmt::format("an entry is called '{}'; take up to 128 printable characters other "
                             "than spaces and []\\@*?;,",
                             entry.name));
  }
  const auto lacks = [&](const char* what) {
    refuse(file, fmt::format("its entry {} has no {}", entry.name, what));
  };
  if (entry.plan == nullptr && entry.missing.empty()) lacks("plan");
  if (entry.executors.bits == 0) lacks("executors");
  if (entry.dtypes.bits == 0) lacks("dtypes");
  if (entry.family.empty()) lacks("family");
}

void require_new_names(const plugin& its, const std::string& file) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < its.source_count; ++i) {
    for (const algorithm& entry : its.sources[i].entries()) {
      require_sound(entry, file);
      const registered* const there = find_algorithm(entry.name);
      if (there == nullptr && names.insert(entry.name).second) continue;
      const bool is_ours = there != nullptr && find_plugin(there->file) == nullptr;
      const std::string_view where = is_ours            ? std::string_view("this program")
                                     : there == nullptr ? std::string_view("this plug-in")
                                                        : there->file;
      throw error(failure::usage,
                  fmt::format("plug-in {}: its entry {} has the name of an entry of {}; give it "
                              "another name",
                              file, entry.name, where));
    }
  }
  if (names.empty()) refuse(file, "has no entries");
}

}  // namespace

const loaded_plugin& load_plugin(const std::filesystem::path& file) {
  const input_file opened = input_file::open(file);
  const std::string name = std::filesystem::canonical(file).string();
  if (const loaded_plugin* const known = find_plugin(name)) return *known;
  require_shared_object(opened, name);
  const std::string hash = opened.hash();
  const plugin& its = exported_by(open_object(name), name);
  require_same_abi(its, name);
  require_new_names(its, name);
  const loaded_plugin& added =
      plugins().all.emplace_back(loaded_plugin{name, hash, its.version, &its});
  plugins().listed.push_back(&added);
  for (std::size_t i = 0; i < its.source_count; ++i) {
    kselect::detail::add_entry_file({its.sources[i].entries, added.file, added.hash, true});
  }
  return added;
}

void load_plugin(const std::filesystem::path& file, const std::string& hash) {
  const loaded_plugin& found = load_plugin(file);
  if (found.hash == hash) return;
  refuse(found.file, "changed since this job began; begin again, or finish with the old file");
}

std::span<const loaded_plugin* const> loaded_plugins() { return plugins().listed; }

const loaded_plugin* find_plugin(std::string_view file) {
  const auto at = std::ranges::find(plugins().listed, file, &loaded_plugin::file);
  return at == plugins().listed.end() ? nullptr : *at;
}

}  // namespace kselect::runtime
