// What a child process finds reaches this one, and nothing that happens to the child does.

#include "runtime/io/isolated_reader.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <gmock/gmock.h>
#include <new>
#include <numeric>
#include <sys/wait.h>
#include <vector>

#include "runtime/error.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::runtime {
namespace {

using input_files::message_of;
using testing::HasSubstr;

// The message of reading `bytes` bytes from a child that does `work`.
std::string refusal(std::size_t bytes, int seconds,
                    const std::function<void(const isolated_reader::results&)>& work,
                    failure category = failure::input) {
  const auto read = [&] {
    isolated_reader child("libx", "x.file", seconds, work);
    std::vector<std::byte> out(bytes);
    child.read(out);
  };
  return message_of(read, category);
}

TEST(IsolatedReader, HandsOverMoreThanAPipeHolds) {
  std::vector<int> sent(1 << 20);
  std::iota(sent.begin(), sent.end(), 0);
  isolated_reader child("libx", "x.file", 60, [&](const isolated_reader::results& send) {
    send(std::as_bytes(std::span(sent).first(1)));
    send(std::as_bytes(std::span(sent).subspan(1)));
  });
  std::vector<int> got(sent.size());
  child.read(std::as_writable_bytes(std::span(got)));
  EXPECT_EQ(got, sent);
}

TEST(IsolatedReader, ACrashIsAnErrorOfTheFile) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS}) {
    const std::string said = refusal(4, 60, [&](const auto& send) {
      send(std::vector<std::byte>(2));
      std::raise(signal);
    });
    EXPECT_THAT(said, HasSubstr("x.file: makes libx crash (SIG")) << signal;
  }
}

TEST(IsolatedReader, AnEndlessLoopEnds) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string said = refusal(1, 1, [](const auto&) {
    const auto never = std::chrono::steady_clock::time_point::max();
    while (std::chrono::steady_clock::now() < never) {
    }
  });
  EXPECT_THAT(said, HasSubstr("x.file: keeps libx busy without an end"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST(IsolatedReader, ErrorsOfTheWorkAreThrownHere) {
  const auto throws = [](const error& what) {
    return [what](const isolated_reader::results&) { throw what; };
  };
  try {
    isolated_reader child("libx", "x.file", 60, throws({failure::unsupported, "x.file: no"}));
    std::byte out{};
    child.read({&out, 1});
    FAIL() << "was read";
  } catch (const error& wrong) {
    EXPECT_EQ(wrong.category(), failure::unsupported);
    EXPECT_STREQ(wrong.what(), "x.file: no");
  }
  EXPECT_THAT(refusal(
                  1, 60, [](const auto&) { throw std::bad_alloc(); }, failure::resources),
              HasSubstr("x.file: needs more memory"));
  EXPECT_THAT(refusal(1, 60, [](const auto&) {}), HasSubstr("x.file: holds less than libx said"));
}

TEST(IsolatedReader, ResultsThatNobodyReadsKeepNoProcess) {
  for (int turn = 0; turn < 3; ++turn) {
    isolated_reader child("libx", "x.file", 60, [](const isolated_reader::results& send) {
      const std::vector<std::byte> piece(1 << 16);
      for (;;) send(piece);
    });
    std::byte first{};
    child.read({&first, 1});
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

}  // namespace
}  // namespace kselect::runtime
