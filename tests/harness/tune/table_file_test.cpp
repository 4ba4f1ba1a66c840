// Writing and reading a table's file, and refusing other files.

#include "harness/tune/table_file.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "tests/harness/scratch_directory.hpp"
#include "tests/harness/tune/made_up.hpp"

namespace kselect::harness::tune {
namespace {

class table_file : public testing::Test {
 protected:
  std::filesystem::path path() const { return scratch_ / "table.json"; }
  void write(const std::string& text) const { std::ofstream(path()) << text; }
  std::string refused() const {
    try {
      read_table(path());
    } catch (const error& why) {
      EXPECT_EQ(why.category(), failure::input);
      EXPECT_TRUE(std::string(why.what()).starts_with(path().string())) << why.what();
      return why.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }

 private:
  scratch_directory scratch_;
};

learned_table learned() {
  const tuning_data data = made_up_data(made_up_problems(40, 1), 0.02);
  return learn(data, best_smoothing(data));
}

TEST_F(table_file, gives_back_the_table) {
  const learned_table table = learned();
  write(table_text(table, {}));
  const learned_table again = read_table(path());
  EXPECT_EQ(again.device.name, table.device.name);
  EXPECT_EQ(again.device.multiprocessors, table.device.multiprocessors);
  EXPECT_EQ(again.members, table.members);
  const table_view before(table), after(again);
  std::array<double, max_table_members> a{}, b{};
  for (const problem& p : made_up_problems(100, 2)) {
    predict_times(*before, p, made_up_multiprocessors, a);
    predict_times(*after, p, made_up_multiprocessors, b);
    for (std::size_t m = 0; m < table.members.size(); ++m) {
      EXPECT_NEAR(a[m] / b[m], 1, 1e-3) << to_string(p);
    }
  }
}

TEST_F(table_file, is_refused_when_it_is_none) {
  EXPECT_NE(refused().find("cannot be read"), std::string::npos);
  write("{\"schema\": ");
  EXPECT_NE(refused().find("is no JSON"), std::string::npos);
  write("{}");
  EXPECT_NE(refused().find("schema"), std::string::npos);
  const std::string text = table_text(learned(), {});
  const auto changed = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    write(std::string(text).replace(at, from.size(), to));
  };
  changed("\"launch\"", "\"lunch\"");
  EXPECT_NE(refused().find("other terms"), std::string::npos);
  changed(table_schema, "kselect-costs/0");
  EXPECT_NE(refused().find(table_schema), std::string::npos);
  changed("[\"streaming\",", "[");
  EXPECT_NE(refused().find("no cost table"), std::string::npos);
}

}  // namespace
}  // namespace kselect::harness::tune
