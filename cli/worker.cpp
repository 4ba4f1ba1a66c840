// `kselect worker` is a process that runs cell groups for another kselect.

#include "harness/run/worker.hpp"

#include "cli/commands.hpp"

namespace kselect::cli {

void add_worker(CLI::App& app, action& chosen) {
  app.add_subcommand(std::string(worker_command), "Runs cell groups for a sweep (internal)")
      ->group("")  // left out of the help
      ->callback([&chosen] { chosen = serve_worker; });
}

}  // namespace kselect::cli
