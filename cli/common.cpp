// Algorithms, executors and options for several subcommands.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/error.hpp"
#include "runtime/streams.hpp"

namespace kselect::cli {

std::string left_out_message(const std::string& name) {
  return fmt::format(
      "{0} was left out of this program, which was built with KSELECT_ALGORITHMS='{1}'; name "
      "another (`kselect list`), build all with scripts/build.sh, or configure with "
      "-DKSELECT_ALGORITHMS='{1};{0}' and build again",
      name, built_globs());
}

const registered& require_algorithm(const std::string& name) {
  if (const registered* const found = find_algorithm(name)) return *found;
  if (is_left_out(name)) throw error(failure::usage, left_out_message(name));
  const auto nearest = nearest_algorithms(name);
  throw error(failure::usage, fmt::format("unknown algorithm '{}'; {}{}", name,
                                          nearest.empty() ? std::string("see `kselect list`")
                                                          : fmt::format("did you mean {}?",
                                                                        fmt::join(nearest, " or ")),
                                          left_out_hint()));
}

error not_written_for(std::string_view name, const std::string& executor,
                      enum_set<executor_kind> has) {
  return {failure::unsupported,
          fmt::format("{} does not run on executor {}, but on {}; name that, or another algorithm "
                      "of `kselect list`",
                      name, executor, fmt::join(members(has), " and "))};
}

void require_available(executor_kind kind, enum_set<executor_kind> has) {
  const std::string reason = why_unavailable(kind);
  if (reason.empty()) return;
  std::vector<std::string> others = members(has);
  std::erase(others, to_string(kind));
  throw error(
      failure::unsupported,
      fmt::format("executor {} cannot run here: {}; {}", to_string(kind), reason,
                  others.empty() ? std::string("name another algorithm of `kselect list`")
                                 : fmt::format("take --executor {}", fmt::join(others, " or "))));
}

executor_kind require_executor(const std::string& name, const algorithm& entry) {
  if (name != "auto") {
    // CLI11 accepts only known names.
    const executor_kind kind = parse<executor_kind>(name).value();
    if (!entry.executors.contains(kind)) throw not_written_for(entry.name, name, entry.executors);
    require_available(kind, entry.executors);
    return kind;
  }
  for (const executor_kind kind : {executor_kind::cuda, executor_kind::cpu}) {
    if (entry.executors.contains(kind) && why_unavailable(kind).empty()) return kind;
  }
  const char* const advice = entry.executors.contains(executor_kind::fiber)
                                 ? "`--executor fiber` runs its kernel on the CPU, slowly, to "
                                   "prove it"
                                 : "name another algorithm of `kselect list`";
  throw error(failure::unsupported, fmt::format("{} cannot run here: {}; {}", entry.name,
                                                why_unavailable(executor_kind::cuda), advice));
}

void option_algorithm(CLI::App& command, std::string& algorithm) {
  command.add_option("--algorithm", algorithm, "an entry of `kselect list`")
      ->capture_default_str()
      ->type_name("ALGORITHM")
      ->group(place_group);
}

CLI::Option* option_output(CLI::App& command, const std::string& name, std::string& file,
                           const std::string& what) {
  return command.add_option(name, file, what)->type_name("FILE")->group(output_group);
}

void say_beside(std::span<const named_file> outputs, const std::string& text) {
  if (take_standard_output(outputs)) {
    write_message(text);
  } else {
    fmt::print("{}", text);
  }
}

void option_executor(CLI::App& command, std::string& executor) {
  command
      .add_option("--executor", executor,
                  "where: on a GPU (cuda), by native code (cpu), or a kernel on the CPU, slowly "
                  "(fiber); auto is cuda if that can run here, else cpu")
      ->group(place_group)
      ->check(CLI::IsMember({"auto", "cpu", "fiber", "cuda"}))
      ->capture_default_str();
}

std::vector<std::string>& given_plugins() {
  static std::vector<std::string> files;
  return files;
}

void option_plugins(CLI::App& command) {
  command
      .add_option("--plugin", given_plugins(),
                  "a shared object whose entries join the list (kselect_add_plugin); may be "
                  "repeated")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(place_group);
}

CLI::Option* option_filter(CLI::App& command, std::string& filter, const std::string& what) {
  return command
      .add_option("--filter", filter,
                  what +
                      " cells whose title, such as 'cpu/heap n=1024 Q=1 k=8 uniform', matches "
                      "this glob somewhere; ^ and $ are its ends")
      ->type_name("GLOB");
}

void option_threads(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "host threads to use; 0: all that this process may use")
      ->group(place_group)
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
}

}  // namespace kselect::cli
