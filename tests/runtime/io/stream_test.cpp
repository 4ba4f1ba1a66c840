// Pipes and FIFOs as inputs and outputs.

#include "runtime/io/stream.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <thread>
#include <vector>

#include "runtime/io/atomic_file.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/io/vectors.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::runtime {
namespace {

using input_files::folder;
using input_files::message_of;
using input_files::npy;
using input_files::npy_literal;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A FIFO that a thread writes `content` into, in pieces of `piece` bytes.
class fed_fifo {
 public:
  fed_fifo(const std::filesystem::path& name, std::string content, std::size_t piece)
      : name_(name), feeder_([this, content = std::move(content), piece] {
          std::FILE* const pipe = std::fopen(name_.c_str(), "wb");
          std::signal(SIGPIPE, SIG_IGN);
          for (std::size_t at = 0; at < content.size(); at += piece) {
            std::fwrite(content.data() + at, 1, std::min(piece, content.size() - at), pipe);
            if (std::fflush(pipe) != 0) break;
          }
          std::fclose(pipe);
        }) {}
  ~fed_fifo() { feeder_.join(); }

 private:
  std::filesystem::path name_;
  std::thread feeder_;
};

std::filesystem::path fifo_in(const folder& at) {
  const auto name = at / "fifo";
  if (mkfifo(name.c_str(), 0600) != 0) throw std::runtime_error("no FIFO");
  return name;
}

const std::string content = npy(npy_literal("<i4", "(2, 3)"), std::string(24, '\1'));

TEST(Stream, IsKnownByItsName) {
  const folder at;
  EXPECT_TRUE(is_stream("-"));
  EXPECT_TRUE(is_stream("/dev/fd/63"));
  EXPECT_TRUE(is_stream(fifo_in(at)));
  EXPECT_FALSE(is_stream(at.write("file", "x")));
  EXPECT_FALSE(is_stream(at / "absent"));
  EXPECT_FALSE(is_stream("./-"));
  EXPECT_EQ(input_name("-"), "standard input");
  EXPECT_EQ(output_name("-"), "standard output");
  EXPECT_EQ(input_name("a"), "a");
}

TEST(Stream, AnArrayArrivesInPiecesOfAnySize) {
  for (const std::size_t piece : {1U, 7U, 64U, 1000U}) {
    const folder at;
    const auto name = fifo_in(at);
    const fed_fifo feeder(name, content, piece);
    const npy_file file = npy_file::open_or_collect(name);
    EXPECT_THAT(file.shape(), ElementsAre(2, 3));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(file.data()), 24), std::string(24, '\1'));
    file.require_unchanged();
  }
}

TEST(Stream, ARegularFileIsMappedAsBefore) {
  const folder at;
  EXPECT_THAT(npy_file::open_or_collect(at.write("x.npy", content)).shape(), ElementsAre(2, 3));
}

TEST(Stream, AnArrayThatEndsTooSoonOrTooLateIsAnError) {
  const auto said = [](const std::string& bytes) {
    const folder at;
    const auto name = fifo_in(at);
    const fed_fifo feeder(name, bytes, 1000);
    return message_of([&] { npy_file::open_or_collect(name); });
  };
  EXPECT_THAT(said(content.substr(0, content.size() - 1)), HasSubstr("is truncated"));
  EXPECT_THAT(said(content.substr(0, 9)), HasSubstr("truncated within its npy header"));
  EXPECT_THAT(said(content + "x"), HasSubstr("bytes after its 24 bytes"));
  EXPECT_THAT(said("x,y"), HasSubstr("bad magic"));
  EXPECT_THAT(said(content + std::string(50 << 20, 'x')), HasSubstr("bytes after"))
      << "it should have stopped reading";
}

TEST(Stream, WhatAHeaderClaimsIsRefusedBeforeItIsRead) {
  const folder at;
  const auto name = fifo_in(at);
  const fed_fifo feeder(name, npy(npy_literal("<f8", "(4611686018427387, 100)"), "few"), 1000);
  EXPECT_THAT(message_of([&] { npy_file::open_or_collect(name); }, failure::resources),
              HasSubstr("does not fit into"));
}

TEST(Stream, TheEndOfAnArrayIsKnownFromItsWholeHeaderOn) {
  const auto bytes = std::as_bytes(std::span(content));
  const std::size_t header = content.size() - 24;
  for (std::size_t have = 0; have < header; ++have) {
    EXPECT_EQ(npy_file_bytes("x", bytes.first(have)), std::nullopt) << have;
  }
  EXPECT_EQ(npy_file_bytes("x", bytes.first(header)), std::ssize(content));
  EXPECT_EQ(npy_file_bytes("x", bytes), std::ssize(content));
}

TEST(Stream, VectorsMayBeAFifoWhereTheCallerAllowsIt) {
  const folder at;
  const auto name = fifo_in(at);
  {
    const fed_fifo feeder(name, content, 1000);
    EXPECT_EQ(load_vectors(name, {.streams = true}).count, 2);
  }
  EXPECT_THAT(message_of([&] { load_vectors(name); }), HasSubstr("unknown kind of file"));
}

TEST(Stream, OneRowIsOneVectorWhereTheCallerAllowsIt) {
  const folder at;
  const auto file = at.write("x.npy", npy(npy_literal("<i4", "(6,)"), std::string(24, '\1')));
  const vector_set one = load_vectors(file, {.one_row = true});
  EXPECT_EQ(one.count, 1);
  EXPECT_EQ(one.dimension, 6);
  EXPECT_THAT(message_of([&] { load_vectors(file); }), HasSubstr("x[None, :]"));
}

TEST(Stream, AnOutputGoesIntoAFifoWhenItIsComplete) {
  const folder at;
  const auto name = fifo_in(at);
  {
    npy_writer unfinished(name, element_type::int32, std::array<std::int64_t, 1>{1});
  }  // without a commit nobody is waited for
  std::string got;
  std::thread reader([&] {
    std::FILE* const pipe = std::fopen(name.c_str(), "rb");
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) got += static_cast<char>(c);
    std::fclose(pipe);
  });
  write_npy(name, element_type::int8, std::array<std::int64_t, 1>{3},
            std::as_bytes(std::span("abc", 3)));
  reader.join();
  EXPECT_THAT(got, testing::EndsWith("\nabc"));
  EXPECT_THAT(at.listing(), ElementsAre("fifo"));
}

TEST(Stream, AnArrayThatMemoryCannotHoldIsRefusedAtTheStart) {
  const folder at;
  EXPECT_THAT(
      message_of(
          [&] { npy_writer(fifo_in(at), element_type::int8, std::array{std::int64_t{1} << 60}); },
          failure::resources),
      HasSubstr("do not fit into memory"));
}

TEST(Stream, AFileWhereStandardOutputWillNotDo) {
  EXPECT_THAT(message_of([] { atomic_file("-"); }, failure::usage), HasSubstr("name a file"));
}

TEST(Stream, AJobHasEachStandardStreamOnceAndWhereItWillDo) {
  const auto held = [](const std::vector<named_file>& in, const std::vector<named_file>& out) {
    return message_of([&] { job_files(in, out); }, failure::usage);
  };
  EXPECT_THAT(held({}, {{"--values", "-", true}, {"--indices", "-", true}}), HasSubstr("both -"));
  EXPECT_THAT(held({{"--base", "-", true}, {"--query", "-", true}}, {}), HasSubstr("both -"));
  EXPECT_THAT(held({}, {{"--record", "-"}}), HasSubstr("--record -: standard output will not do"));
  EXPECT_THAT(held({{"--index", "-"}}, {}), HasSubstr("--index -: standard input will not do"));
  const std::vector<named_file> in = {{"--input", "-", true}}, out = {{"--values", "-", true}};
  const job_files both(in, out);
  EXPECT_TRUE(take_standard_output(out));
  EXPECT_FALSE(take_standard_output({}));
}

}  // namespace
}  // namespace kselect::runtime
