// `kselect new` writes the first file of an algorithm, a queue or a metric into a source tree, from
// the templates of that tree (cli/templates). The file compiles and passes its tests as it is.

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "runtime/error.hpp"

namespace kselect::cli {
namespace {
using namespace runtime;
namespace fs = std::filesystem;

// {} stands for the name. `then` is what to do next; its {} is the entry.
struct kind {
  std::string_view name;
  struct file {
    std::string_view from, to;
  };
  std::vector<file> files;
  std::string_view entry_prefix;
  std::string_view then;
};

constexpr std::string_view try_entry = "scripts/try.sh '{}*'    builds it and proves it";

const std::vector<kind>& kinds() {
  static const std::vector<kind> all = {
      {"cpu", {{"cpu.cpp.in", "baselines/{}.cpp"}}, "cpu/", try_entry},
      {"kernel", {{"kernel.cu.in", "algorithms/{0}/{0}.cu"}}, "", try_entry},
      {"queue",
       {{"queue.cuh.in", "algorithms/queues/{}.cuh"}, {"queue.cu.in", "algorithms/queues/{}.cu"}},
       "tang/",
       try_entry},
      {"metric",
       {{"metric.hpp.in", "search/metric/metrics/{}.hpp"}},
       "",
       "after a build, `kselect index build --metric {}` uses it; add it to the types of "
       "tests/search/metric"},
  };
  return all;
}

struct new_options {
  std::string kind, name, tree;
};

// A tree has the templates.
bool is_tree(const fs::path& folder) {
  return fs::is_directory(folder / "cli" / "templates") &&
         fs::is_regular_file(folder / "CMakeLists.txt");
}

fs::path tree_to_write(const std::string& given) {
  if (!given.empty()) {
    if (is_tree(given)) return given;
    throw error(
        failure::usage,
        fmt::format("--tree {}: not a source tree of kselect; it has no cli/templates", given));
  }
  for (fs::path folder = fs::current_path();; folder = folder.parent_path()) {
    if (is_tree(folder)) return folder;
    if (folder == folder.parent_path()) break;
  }
  throw error(
      failure::usage,
      fmt::format("{} is not in a source tree of kselect; go into a clone, or name one with --tree",
                  fs::current_path().string()));
}

// The name becomes that of a file, a function and, with dashes, an entry.
void check_name(const std::string& name) {
  const bool fine = !name.empty() && std::islower(static_cast<unsigned char>(name[0])) != 0 &&
                    std::ranges::all_of(name, [](unsigned char c) {
                      return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
                    });
  if (fine && name.size() <= 40) return;
  throw error(
      failure::usage,
      fmt::format("'{}' cannot be a name: use up to 40 of a-z, 0-9 and _, a letter first", name));
}

// The file of that stem or that entry, if there is one already. The build refuses two of one stem.
std::string taken_by(const fs::path& tree, const std::string& name, const std::string& entry) {
  for (const char* room : {"algorithms", "baselines", "search/metric/metrics"}) {
    if (!fs::is_directory(tree / room)) continue;
    for (const auto& found : fs::recursive_directory_iterator(tree / room)) {
      const fs::path stem = found.path().filename().stem();
      if (found.is_regular_file() && stem == name) return fs::relative(found.path(), tree).string();
    }
  }
  const registered* const same = find_algorithm(entry);
  return same == nullptr ? "" : std::string(same->file);
}

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

std::string read_template(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || text.str().empty()) {
    throw error(failure::input,
                fmt::format("{}: cannot be read; is the tree complete?", file.string()));
  }
  return text.str();
}

void write_new(const fs::path& file, const std::string& text) {
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  std::ofstream out(file);
  out << text << std::flush;
  if (failed || !out)
    throw error(failure::output, fmt::format("{}: cannot be written", file.string()));
}

// C++ keywords and names of the standard library that a function of namespace entries cannot bear.
bool reserved(std::string_view name) {
  constexpr std::array words = {
      "auto",  "bool",     "break",  "case",   "char",    "class",  "const",    "double", "else",
      "enum",  "float",    "for",    "if",     "inline",  "int",    "long",     "new",    "return",
      "short", "signed",   "sizeof", "static", "struct",  "switch", "template", "this",   "throw",
      "try",   "typename", "union",  "using",  "virtual", "void",   "while"};
  return std::ranges::find(words, name) != words.end();
}

int write_all(const new_options& options) {
  const auto found = std::ranges::find(kinds(), options.kind, &kind::name);
  check_name(options.name);
  if (reserved(options.name)) {
    throw error(failure::usage,
                fmt::format("'{}' is a word of C++; take another name", options.name));
  }
  const fs::path tree = tree_to_write(options.tree);
  std::string entry = options.name;
  if (options.kind == "kernel") std::ranges::replace(entry, '_', '-');
  entry.insert(0, found->entry_prefix);
  if (const std::string by = taken_by(tree, options.name, entry); !by.empty()) {
    throw error(failure::usage,
                fmt::format("the name {} is taken by {}; take another", options.name, by));
  }
  // All are read before one is written.
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [from, to] : found->files) {
    std::string text = read_template(tree / "cli" / "templates" / from);
    replace_all(text, "@NAME@", options.name);
    replace_all(text, "@ENTRY@", entry);
    texts.emplace_back(fmt::format(fmt::runtime(to), options.name), std::move(text));
  }
  for (const auto& [to, text] : texts) {
    write_new(tree / to, text);
    fmt::print("wrote {} ({} lines)\n", to, std::ranges::count(text, '\n'));
  }
  fmt::print("next: {}\n", fmt::format(fmt::runtime(found->then), entry));
  return 0;
}

}  // namespace

void add_new(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "new", "Begin an algorithm, a queue or a metric by an annotated file in a source tree");
  auto options = std::make_shared<new_options>();
  std::vector<std::string> names;
  for (const kind& one : kinds()) names.emplace_back(one.name);
  command
      ->add_option(
          "KIND", options->kind,
          "cpu: native code on rows; kernel: for GPUs and fibers; queue: for the kernels of "
          "algorithms/queues; metric: for `kselect index`")
      ->required()
      ->check(CLI::IsMember(names));
  command->add_option("NAME", options->name, "of the file, e.g. my_select")
      ->required()
      ->type_name("NAME");
  command
      ->add_option("--tree", options->tree, "a source tree; by default the one around this folder")
      ->type_name("DIR");
  command->callback([&chosen, options] { chosen = [options] { return write_all(*options); }; });
}

}  // namespace kselect::cli
