#include "kselect/registry.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

namespace kselect {
namespace {

bool defines_entries(const std::filesystem::path& file) {
  const std::string wanted = "std::span<const algorithm> " + file.stem().string() + "() {";
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with(wanted)) return true;
  }
  return false;
}

// Sweeps would miss the entries of a file that the build does not find.
TEST(Registry, ListsExactlyTheFilesOnDisk) {
  std::set<std::string> on_disk, listed;
  const std::filesystem::path root = KSELECT_SOURCE_DIR;
  for (const char* folder : {"algorithms", "baselines"}) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(root / folder)) {
      const auto extension = file.path().extension();
      if ((extension == ".cu" || extension == ".cpp") && defines_entries(file.path())) {
        on_disk.insert(std::filesystem::relative(file.path(), root).string());
      }
    }
  }
  for (const registered& row : registry()) listed.insert(std::string(row.file));
  EXPECT_EQ(listed, on_disk);
}

TEST(Registry, EveryEntryIsCompleteAndNamedOnce) {
  std::set<std::string_view> seen;
  for (const registered& row : registry()) {
    const algorithm& entry = *row.algorithm;
    EXPECT_TRUE(seen.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.family.empty()) << entry.name;
    EXPECT_FALSE(entry.source.empty()) << entry.name;
    EXPECT_NE(entry.executors.bits, 0U) << entry.name;
    EXPECT_TRUE(entry.plan != nullptr || !entry.missing.empty()) << entry.name;
    EXPECT_EQ(row.source_hash.size(), 16U) << entry.name;
    EXPECT_EQ(find_algorithm(entry.name), &row);
  }
}

// A sweep uses this to choose the number of threads for measuring the ceiling.
TEST(Registry, SaysWhoUsesThreads) {
  for (const registered& row : registry()) {
    const algorithm& entry = *row.algorithm;
    if (!entry.executors.contains(executor_kind::cpu)) continue;
    const bool picks = entry.family == "auto";  // uses threads if they pay
    EXPECT_EQ(entry.threaded, picks || entry.name.ends_with("+omp")) << entry.name;
  }
}

TEST(Registry, MatchesGlobs) {
  EXPECT_EQ(match_algorithms("*").size(), registry().size());
  EXPECT_EQ(match_algorithms("cpu/sort").size(), 1U);
  EXPECT_EQ(match_algorithms("cpu/so?t*").size(), 2U);
  EXPECT_EQ(match_algorithms("*/sort+omp*").size(), match_algorithms("cpu/sort+omp").size());
  EXPECT_TRUE(match_algorithms("cpu/").empty());
  EXPECT_TRUE(match_algorithms("").empty());
}

TEST(Registry, SuggestsTheNearestNames) {
  EXPECT_EQ(nearest_algorithms("cpu/nth_elemnt").front(), "cpu/nth_element");
  EXPECT_EQ(nearest_algorithms("heap").front(), "cpu/heap");
  EXPECT_TRUE(nearest_algorithms("something else entirely").empty());
}

status never_called(const problem&, const io&, std::span<std::byte>, const executor&) {
  return {status_code::failed, "support starts nothing"};
}

TEST(Support, NamesTheFirstDeclarationThatExcludesAProblem) {
  algorithm entry;
  entry.plan = [](const problem& p, const device&) { return call_plan::of<&never_called>(p); };
  entry.executors = set_of(executor_kind::cuda);
  entry.promises.limits.max_k = 512;
  entry.promises.nan = nan_policy::unsupported;
  device gpu;
  gpu.kind = executor_kind::cuda;
  problem p;
  p.n = 1000;
  p.q = 1;
  p.k = 512;
  const auto reason = [&] { return check_support(entry, p, gpu).reason; };
  EXPECT_EQ(reason(), "");
  p.k = 513;
  EXPECT_EQ(reason(), "k > 512");
  p.k = 1;
  p.type = dtype::float64;
  EXPECT_EQ(reason(), "dtype float64 is not supported");
  p.type = dtype::float32;
  p.layout = layout::column_major;
  EXPECT_EQ(reason(), "layout column_major is not supported");
  p.layout = layout::row_major;
  p.n = std::int64_t{1} << 31;
  EXPECT_EQ(reason(), "n > 2147483647 does not fit index type int32");
  p.n = 1001;
  entry.promises.limits.alignment = 16;
  EXPECT_EQ(reason(), "rows are not aligned to 16 bytes");
  gpu.kind = executor_kind::cpu;
  EXPECT_EQ(reason(), "executor cpu is not supported");
  entry.missing = "built without the library";
  EXPECT_EQ(reason(), "built without the library");
}

}  // namespace
}  // namespace kselect
