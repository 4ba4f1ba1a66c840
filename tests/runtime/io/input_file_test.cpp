// The identity and the hash of inputs, and inputs that others change or cut.

#include "runtime/io/input_file.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <vector>

#include "runtime/io/content_hashes.hpp"
#include "runtime/io/mapped_file.hpp"
#include "runtime/json.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::runtime {
namespace {

using input_files::folder;
using input_files::message_of;
using testing::HasSubstr;

// Changes one byte, and sets the time of the last change of the content back.
void change_in_secret(const std::filesystem::path& path, std::int64_t at) {
  const auto time = std::filesystem::last_write_time(path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file.put('x');
  file.close();
  std::filesystem::last_write_time(path, time);
}

TEST(InputFile, EveryByteCountsForTheHash) {
  const folder at;
  const std::string content(3 << 20, 'a');
  const auto path = at.write("a", content);
  const std::string hash = input_file::open(path).hash();
  EXPECT_EQ(hash, input_file::open(at.write("copy", content)).hash());
  change_in_secret(path, (1 << 20) + 4321);
  EXPECT_NE(hash, input_file::open(path).hash()) << "the change went unnoticed";
}

TEST(InputFile, HashesAreKeptBesideAJobByIdentity) {
  const folder at;
  const auto path = at.write("a", "before");
  const std::string hash = input_file::open(path).hash();
  content_hashes::keep(at / "known.json");
  at.write("nonsense.json", "[{\"host\": 1}, 2]");
  content_hashes::recall(at / "known.json");
  content_hashes::recall(at / "nonsense.json");
  content_hashes::recall(at / "none.json");
  // What the file says is believed only of the very same file.
  change_in_secret(path, 0);
  EXPECT_NE(input_file::open(path).hash(), hash);
}

TEST(InputFile, AKeptHashThatWasDamagedIsNotBelieved) {
  const folder at;
  const auto before = input_file::open(at.write("a", "same")),
             now = input_file::open(at.write("b", "same"));
  const std::string hash = before.hash();
  content_hashes::keep(at / "known.json");
  auto known = read_json(at / "known.json").back();
  EXPECT_EQ(known["xxh3"], hash);
  known["inode"] = now.identity().inode;
  known["written_ns"] = now.identity().written_ns;
  known["changed_ns"] = now.identity().changed_ns;
  known["xxh3"] = "0123456789abcdef";
  at.write("known.json", "[" + known.dump() + "]");
  content_hashes::recall(at / "known.json");
  EXPECT_EQ(now.hash(), hash);
}

TEST(InputFile, WhatChangesWhileItIsReadIsAnError) {
  const folder at;
  const auto path = at.write("a", std::string(100, 'a'));
  const input_file file = input_file::open(path);
  file.require_in_place();
  at.write("b", std::string(100, 'b'));
  std::filesystem::rename(at / "b", path);
  file.require_unchanged();  // the open file is still whole
  EXPECT_THAT(message_of([&] { file.require_in_place(); }), HasSubstr("a: was replaced"));
  const input_file other = input_file::open(path);
  at.write("a", "short");
  EXPECT_THAT(message_of([&] { other.require_unchanged(); }),
              HasSubstr("changed while it was read (from 100 bytes to 5)"));
  std::vector<std::byte> out(50);
  EXPECT_THAT(message_of([&] { other.read(0, out); }), HasSubstr("it now ends at byte 5"));
}

TEST(InputFile, AFifoNeitherHangsNorPasses) {
  const folder at;
  ASSERT_EQ(mkfifo((at / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(message_of([&] { input_file::open(at / "fifo"); }), HasSubstr("not a regular file"));
}

TEST(MappedFile, ACutFileReadsAsZerosAndIsAnError) {
  const folder at;
  const auto path = at.write("a", std::string(1 << 20, 'a'));
  const mapped_file mapping = mapped_file::open(path);
  std::filesystem::resize_file(path, 5000);
  EXPECT_EQ(mapping.bytes()[100], std::byte{'a'});
  EXPECT_EQ(mapping.bytes()[500'000], std::byte{0}) << "would be SIGBUS";
  EXPECT_EQ(mapping.bytes().back(), std::byte{0});
  EXPECT_THAT(message_of([&] { mapping.require_unchanged(); }),
              HasSubstr("a: another process cut it while it was read"));
  EXPECT_EQ(mapped_file::cut_file(), path.string());
  const auto whole = at.write("b", "b");
  mapped_file::open(whole).require_unchanged();
}

}  // namespace
}  // namespace kselect::runtime
