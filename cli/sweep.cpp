#include "cli/sweep.hpp"

#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/progress.hpp"
#include "harness/tune/sweep_time.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/streams.hpp"

namespace kselect::cli {

planned_sweep::planned_sweep(sweep_request wanted, const sweep_options& how)
    : request(std::move(wanted)),
      places(request.config.measure),
      may_use_gpu(how.executor.value_or(executor_kind::cuda) == executor_kind::cuda) {
  const sweep_config& config = request.config;
  request.input = choose_input(config, how.dataset, config.measure.threads, how.executor);
  input = open_sweep_input(request.input);
  std::shared_ptr<const cell_source> plan =
      make_plan({config, *input, how.executor, how.filter}, places);
  omitted = plan->omitted();
  part = part_of(std::move(plan), config.measure, how.shard);
}

std::string omitted_line(const planned_sweep& sweep) {
  const std::string text = omitted_text(sweep.omitted);
  return text.empty() ? text : one_line(text) + '\n';
}

// What the times of an estimate are based on.
std::string basis_of(const tune::sweep_time& time) {
  if (time.by_table == time.cells) return "from a cost table";
  if (time.by_table == 0) return "from the size of their rows, because no cost table has them";
  return fmt::format("{} from a cost table, the others from the size of their rows", time.by_table);
}

std::string estimate_line(planned_sweep& sweep) {
  if (std::ssize(sweep.part.cells) > most_listed) {
    return fmt::format("no estimate for more than {} cells; take a part by --filter\n",
                       most_listed);
  }
  const tune::sweep_time time =
      tune::estimate_time(sweep.part.cells, sweep.request.config.measure, sweep.places);
  const std::string least = format_duration(time.least_s), most = format_duration(time.most_s);
  return fmt::format("estimate: {} for {} that can run, {}\n",
                     least == most ? most : fmt::format("{} to {}", least, most),
                     amount_of(time.cells, "cell"), basis_of(time));
}

sweep_result run_planned(planned_sweep& sweep) {
  // Once, in addition to the reasons of the cells.
  if (const std::string why = sweep.may_use_gpu ? why_no_gpu_code() : std::string(); !why.empty()) {
    print_message("{}\n", why);
  }
  print_message("{}", omitted_line(sweep));
  progress shown(isatty(STDERR_FILENO) != 0);
  return run_sweep(sweep.request, sweep.part, *sweep.input, sweep.places, shown);
}

int code_of(const sweep_result& result) {
  if (result.interrupted) return static_cast<int>(failure::interrupted);
  const bool failed = std::ranges::any_of(result.cells, [](const finished_cell& c) {
    return c.status != cell_status::ok && c.status != cell_status::unsupported;
  });
  return failed ? static_cast<int>(failure::cells) : 0;
}

}  // namespace kselect::cli
