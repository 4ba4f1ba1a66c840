#include "harness/tune/own_table.hpp"

#include <cstdlib>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "harness/tune/table_file.hpp"
#include "runtime/error.hpp"

namespace kselect::harness::tune {
namespace {

struct own_table {
  std::string file;
  learned_table table;
  table_view view{table};
};

std::unique_ptr<const own_table> in_use;

}  // namespace

void use_own_table() {
  const char* const file = std::getenv(own_table_variable);
  if (file == nullptr || *file == '\0') return;
  try {
    in_use.reset(new own_table{file, read_table(file)});
  } catch (const error& wrong) {
    throw error(failure::input,
                fmt::format("{}={}; unset it, or learn a table with `kselect tune --out FILE`",
                            own_table_variable, wrong.what()));
  }
  prefer_cost_table(&*in_use->view);
}

nlohmann::ordered_json own_table_json() {
  if (in_use == nullptr) return nullptr;
  return {{"file", in_use->file},
          {"device", in_use->table.device.name},
          {"source", in_use->table.source}};
}

}  // namespace kselect::harness::tune
