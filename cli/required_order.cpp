#include "cli/required_order.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/error.hpp"

namespace kselect::cli {

const registered& require_algorithm(const std::string& name, const requirements& wanted) {
  const registered& named = require_algorithm(name);
  if (keeps(named.algorithm->promises, wanted)) return named;
  for (const char* const form : {"+sorted", "+stable"}) {
    const registered* const found = find_algorithm(name + form);
    if (found != nullptr && keeps(found->algorithm->promises, wanted)) return *found;
  }
  const std::string ordered =
      name + (wanted.ordering == output_ordering::sorted ? "+sorted" : "+stable");
  if (is_left_out(ordered)) throw error(failure::usage, left_out_message(ordered));
  throw error(failure::usage,
              fmt::format("{} does not promise an answer that is {}{}; `kselect list --long` says "
                          "which algorithms do",
                          name, to_string(wanted.ordering),
                          wanted.tie_break == tie_break::unspecified
                              ? ""
                              : fmt::format(" and {}", to_string(wanted.tie_break))));
}

void option_order(CLI::App& command, requirements& wanted) {
  command.add_flag_callback(
      "--sorted",
      [&wanted] { wanted.ordering = std::max(wanted.ordering, output_ordering::sorted); },
      "best first; by NAME+sorted where NAME itself does not promise it");
  command.add_flag_callback(
      "--stable",
      [&wanted] {
        wanted = {output_ordering::stable_sorted, tie_break::prefer_smaller_index,
                  determinism::run_to_run};
      },
      "best first and, of equal elements, those with smaller indices chosen and first; by "
      "NAME+stable where NAME itself does not promise it");
}

void option_nan(CLI::App& command, nan_order& place) {
  command
      .add_option_function<std::string>(
          "--nan", [&place](const std::string& name) { place = parse<nan_order>(name).value(); },
          "where NaN stands, for the smallest and the largest alike: last or first, or by its bits "
          "(total_order, the default)")
      ->check(CLI::IsMember({"total_order", "last", "first"}));
}

}  // namespace kselect::cli
