// meta.json of whatever content: a record of a run, or an error that names the file.

#include "harness/record/meta.hpp"

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "tests/harness/record/faulty_files.hpp"

namespace kselect::harness {
namespace {

TEST(meta, members_of_another_kind_are_named) {
  const scratch_directory scratch;
  const auto path = scratch / "meta.json";
  for (const char* const text :
       {R"([])", R"({"plan": {}})", R"({"state": null})", R"({"state": "odd"})", R"({"git": []})",
        R"({"gpu": [1]})", R"({"gpu": {}})", R"({"host": {"name": 1}})", R"({"config": 3})",
        R"({"plan": {"shard": 0, "of": 1, "cells": 1, "cells_of_all": 1, "predicted_us": 1,
            "hash": "x"}})",
        R"({"plan": {"shard": 1, "of": 2147483648, "cells": 1, "cells_of_all": 1,
            "predicted_us": 1, "hash": "x"}})",
        R"({"plan": {"shard": 1, "of": 1.5, "cells": 1, "cells_of_all": 1, "predicted_us": 1,
            "hash": "x"}})"}) {
    spew(path, text);
    try {
      read_meta(path);
      ADD_FAILURE() << text;
    } catch (const error& refused) {
      EXPECT_EQ(refused.category(), failure::input) << text;
      EXPECT_NE(std::string(refused.what()).find("meta.json: "), std::string::npos);
    }
  }
  spew(path, R"({"config": {}, "state": "complete", "git": null, "gpu": []})");
  EXPECT_EQ(read_meta(path).at("state"), "complete");
}

}  // namespace
}  // namespace kselect::harness
