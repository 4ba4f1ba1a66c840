// Results survive every fault of the writer: each system call in turn fails, or is the last one.

#include "search/knn/tiled/result_store.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "runtime/io/npy.hpp"
#include "tests/harness/record/faulty_files.hpp"

namespace kselect::search {
namespace {

using testing::HasSubstr;

constexpr std::int64_t queries = 7, k = 3, tile = 3;

result_request request_in(const scratch_directory& at, bool resume) {
  return {.indices = at / "i.npy",
          .distances = at / "d.npy",
          .queries = queries,
          .k = k,
          .job = R"({"base":"abc","k":3})",
          .resume = resume};
}

// Does at most `most` of the job's remaining tiles.
void work(const result_request& request, file_system& files, int most = 100) {
  result_store store(request, files);
  for (int t = 0; t < most && store.done() < queries; ++t) {
    const std::int64_t first = store.done(), count = std::min(tile, queries - first);
    std::vector<float> distances;
    std::vector<std::int64_t> indices;
    for (std::int64_t i = first * k; i < (first + count) * k; ++i) {
      distances.push_back(static_cast<float>(i) / 2);
      indices.push_back(1000 - i);
    }
    store.append(count, distances, indices);
  }
  if (store.done() == queries) store.commit();
}

// Expects only the two whole files.
void expect_results(const scratch_directory& at) {
  const npy_file indices = npy_file::open(at / "i.npy"), distances = npy_file::open(at / "d.npy");
  EXPECT_THAT(indices.shape(), testing::ElementsAre(queries, k));
  EXPECT_THAT(distances.shape(), testing::ElementsAre(queries, k));
  for (std::int64_t i = 0; i < queries * k; ++i) {
    EXPECT_EQ(reinterpret_cast<const std::int64_t*>(indices.data())[i], 1000 - i);
    EXPECT_EQ(reinterpret_cast<const float*>(distances.data())[i], static_cast<float>(i) / 2);
  }
  const auto entries = std::filesystem::directory_iterator(at.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 2);
}

template <class Action>
std::string refusal(failure category, Action&& action) {
  try {
    action();
  } catch (const error& why) {
    EXPECT_EQ(why.category(), category) << why.what();
    return why.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(ResultStore, WritesWhatNumpyReads) {
  const scratch_directory at;
  unsynced_files files;
  work(request_in(at, false), files);
  expect_results(at);
}

TEST(ResultStore, KeepsLinksAndWritesWhatTheyName) {
  const scratch_directory at;
  unsynced_files files;
  std::filesystem::create_directories(at / "far");
  std::filesystem::create_symlink("far/real.npy", at / "i.npy");
  work(request_in(at, false), files, 1);
  EXPECT_TRUE(std::filesystem::exists(at / "far/real.npy.job"));
  work(request_in(at, true), files);
  EXPECT_TRUE(std::filesystem::is_symlink(at / "i.npy"));
  EXPECT_THAT(npy_file::open(at / "far/real.npy").shape(), testing::ElementsAre(queries, k));
  std::filesystem::remove(at / "i.npy");
  std::filesystem::rename(at / "far/real.npy", at / "i.npy");
  std::filesystem::remove(at / "far");
  expect_results(at);
}

TEST(ResultStore, WhatTheDiskCannotHoldIsRefusedBeforeAnythingIsMade) {
  const scratch_directory at;
  result_request request = request_in(at, false);
  request.queries = std::int64_t{1} << 50;
  EXPECT_THAT(refusal(failure::output, [&] { const result_store store(request); }),
              HasSubstr("i.npy: its 25769803776 MiB do not fit into the "));
  EXPECT_TRUE(std::filesystem::is_empty(at.path()));
}

TEST(ResultStore, EveryFaultLeavesAJobThatCanBeResumed) {
  using fault = faulty_files::fault;
  int told_to_resume = 0;
  for (const fault kind : {fault::once, fault::from_then_on}) {
    for (int fail_at = 1;; ++fail_at) {
      const scratch_directory at;
      faulty_files files;
      files.kind = kind;
      files.code = ENOSPC;
      files.fail_at = fail_at;
      bool failed = false;
      try {
        work(request_in(at, false), files);
      } catch (const error& why) {
        failed = true;
        EXPECT_TRUE(why.category() == failure::output) << why.what();
        told_to_resume += std::string(why.what()).ends_with("run again with --resume") ? 1 : 0;
      }
      SCOPED_TRACE(files.trace);
      // A fault in a destructor is not reported.
      if (failed || !files.struck) {
        unsynced_files sound;
        work(request_in(at, true), sound);
      }
      expect_results(at);
      if (!files.struck) {
        EXPECT_GT(fail_at, 30);
        break;
      }
    }
  }
  EXPECT_GT(told_to_resume, 4);
}

TEST(ResultStore, KilledBeforeAnyCallItResumes) {
  for (int fail_at = 1;; ++fail_at) {
    const scratch_directory at;
    const pid_t child = fork();
    if (child == 0) {
      faulty_files files;
      files.kind = faulty_files::fault::killed;
      files.fail_at = fail_at;
      work(request_in(at, false), files);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    const bool killed = WIFSIGNALED(status);
    SCOPED_TRACE(fail_at);
    unsynced_files sound;
    if (killed) work(request_in(at, true), sound);
    expect_results(at);
    if (!killed) break;
  }
}

TEST(ResultStore, NoTileIsComputedTwice) {
  const scratch_directory at;
  unsynced_files files;
  work(request_in(at, false), files, 2);
  {
    const result_store store(request_in(at, true), files);
    EXPECT_TRUE(store.resumed());
    EXPECT_EQ(store.done(), 2 * tile);
  }
  work(request_in(at, true), files);
  expect_results(at);
}

TEST(ResultStore, AnUnfinishedJobIsNotOverwrittenUnasked) {
  const scratch_directory at;
  unsynced_files files;
  work(request_in(at, false), files, 1);
  EXPECT_THAT(refusal(failure::output, [&] { work(request_in(at, false), files); }),
              HasSubstr("--resume"));
  result_request other = request_in(at, true);
  other.job = R"({"base":"xyz","k":3})";
  EXPECT_THAT(refusal(failure::usage, [&] { work(other, files); }),
              HasSubstr("its base is \"abc\", now it is \"xyz\""));
  work(request_in(at, true), files);
  expect_results(at);
}

TEST(ResultStore, AJobWithoutATileMayBeReplaced) {
  const scratch_directory at;
  unsynced_files files;
  work(request_in(at, false), files, 0);
  work(request_in(at, false), files);
  expect_results(at);
}

TEST(ResultStore, ChangedRowsAreNoticed) {
  const scratch_directory at;
  unsynced_files files;
  work(request_in(at, false), files, 2);
  std::string rows = slurp(at / "d.npy.partial");
  rows[130] = static_cast<char>(rows[130] ^ 1);
  spew(at / "d.npy.partial", rows);
  EXPECT_THAT(refusal(failure::input, [&] { work(request_in(at, true), files); }),
              HasSubstr("queries 0 to 2"));
  spew(at / "d.npy.partial", rows.substr(0, 140));
  EXPECT_THAT(refusal(failure::input, [&] { work(request_in(at, true), files); }),
              HasSubstr("shorter"));
}

TEST(ResultStore, AChangedHeaderIsNoticed) {
  for (const char* const name : {"i.npy", "d.npy"}) {
    const scratch_directory at;
    unsynced_files files;
    work(request_in(at, false), files, 2);
    const auto partial = at / (std::string(name) + ".partial");
    std::string rows = slurp(partial);
    rows[60] = static_cast<char>(rows[60] ^ 1);
    spew(partial, rows);
    EXPECT_THAT(refusal(failure::input, [&] { work(request_in(at, true), files); }),
                HasSubstr(std::string(name) + ".partial is not the one written"));
  }
}

TEST(ResultStore, AnOlderAnswerIsNotTakenForRowsThatAreLost) {
  for (const char* const lost : {"i.npy", "d.npy"}) {
    const scratch_directory at;
    unsynced_files files;
    work(request_in(at, false), files);  // the older answer
    std::string rows = slurp(at / lost);
    rows[130] = static_cast<char>(rows[130] ^ 1);
    spew(at / lost, rows);
    {
      result_store store(request_in(at, false), files);
      const std::vector<float> distances(queries * k);
      const std::vector<std::int64_t> indices(queries * k);
      store.append(queries, distances, indices);
    }
    std::filesystem::remove(at / (std::string(lost) + ".partial"));
    EXPECT_THAT(refusal(failure::input, [&] { work(request_in(at, true), files); }),
                HasSubstr("are not those recorded"));
  }
}

TEST(ResultStore, AJournalThatMakesNoSenseIsRefusedWithWhatToDo) {
  for (const char* const line :
       {R"("first":0,"count":1e99,"hash":"x")", R"("first":0,"count":2.5,"hash":"x")",
        R"("first":0,"hash":"x")", R"("first":1,"count":3,"hash":"x")"}) {
    const scratch_directory at;
    unsynced_files files;
    work(request_in(at, false), files, 0);
    {
      journal written =
          journal::open(at / "i.npy.job", open_mode::resume, files, record_kind::knn_tile);
      written.append(std::string(R"({"schema":1,"what":"knn_tile",)") + line + "}");
    }
    EXPECT_THAT(refusal(failure::input, [&] { work(request_in(at, true), files); }),
                testing::AllOf(HasSubstr("line 2 of its journal"),
                               testing::EndsWith("; remove the directory and start again")));
  }
}

TEST(ResultStore, TwoJobsAtOnceAreRefused) {
  const scratch_directory at;
  unsynced_files files;
  const result_store held(request_in(at, false), files);
  EXPECT_THAT(refusal(failure::output, [&] { work(request_in(at, true), files); }),
              HasSubstr("in use"));
}

}  // namespace
}  // namespace kselect::search
