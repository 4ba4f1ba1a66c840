// Index files: a written index is read back, and any other file is refused.

#include "search/metric/index_file.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <xxhash.h>

#include "runtime/backend/host_backend.hpp"
#include "runtime/error.hpp"
#include "search/metric/hold_out.hpp"
#include "search/metric/sets.hpp"
#include "search/metric/stand_ins.hpp"
#include "tests/search/metric/objects.hpp"

namespace kselect::search::metric_space {
namespace {

using testing::HasSubstr;

class IndexFile : public testing::Test {
 protected:
  IndexFile() {
    static int number = 0;
    file_ = std::filesystem::temp_directory_path() /
            ("kselect_index_" + std::to_string(getpid()) + '_' + std::to_string(number++));
  }
  ~IndexFile() override { std::filesystem::remove(file_); }

  template <class M>
  static indexed_objects make(index_kind kind) {
    const auto place = open_host_backend(executor_kind::cpu, 1);
    indexed_objects x;
    x.in = &find_space(M::name);
    x.objects = std::make_unique<set_holder<M>>(test_objects<M>(40, 3));
    x.source = "objects";
    x.index.kind = kind;
    if (kind == index_kind::list_of_clusters) {
      x.index.clusters = x.in->build_clusters(*x.objects, 6, *place);
    }
    if (kind == index_kind::sss)
      x.index.pivots = x.in->build_pivots(*x.objects, {.alpha = 0.5}, *place);
    for (std::int64_t i = 0; i < 40; ++i) x.numbers.push_back(2 * i);
    return x;
  }

  // An index whose clusters have a fixed radius.
  template <class M>
  static indexed_objects make_within(float radius) {
    const auto place = open_host_backend(executor_kind::cpu, 1);
    indexed_objects x = make<M>(index_kind::list_of_clusters);
    x.index.clusters = x.in->build_clusters_within(*x.objects, radius, *place);
    return x;
  }

  std::string read_bytes() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write_bytes(const std::string& bytes) const {
    std::ofstream(file_, std::ios::binary) << bytes;
  }
  // The message of the refusal; a test failure if there is none.
  std::string refusal() const {
    try {
      read_index_file(file_);
    } catch (const error& e) {
      EXPECT_EQ(e.category(), failure::input) << e.what();
      EXPECT_THAT(e.what(), HasSubstr(file_));
      return e.what();
    }
    ADD_FAILURE() << "was read";
    return {};
  }

  std::string file_;
};

TEST_F(IndexFile, ComesBackAsItWas) {
  for (const auto& kind : names<index_kind>) {
    for (const bool words : {false, true}) {
      const indexed_objects x = words ? make<levenshtein>(kind.value) : make<euclidean>(kind.value);
      write_index_file(file_, x);
      const indexed_objects again = read_index_file(file_);
      EXPECT_EQ(again.in, x.in);
      EXPECT_EQ(again.objects->hash(), x.objects->hash());
      EXPECT_EQ(again.index.kind, x.index.kind);
      EXPECT_EQ(again.index.clusters, x.index.clusters);
      EXPECT_EQ(again.index.pivots, x.index.pivots);
      EXPECT_EQ(again.source, "objects");
      EXPECT_EQ(again.numbers, x.numbers);
    }
  }
}

TEST_F(IndexFile, ClustersOfARadiusComeBack) {
  for (const bool words : {false, true}) {
    const indexed_objects x = words ? make_within<levenshtein>(5) : make_within<euclidean>(1);
    EXPECT_FALSE(x.index.clusters.has_fixed_size());
    write_index_file(file_, x);
    EXPECT_EQ(read_index_file(file_).index.clusters, x.index.clusters);
  }
}

TEST_F(IndexFile, TheNumberOfPivotsToTakeComesBack) {
  const auto place = open_host_backend(executor_kind::cpu, 1);
  indexed_objects x = make<euclidean>(index_kind::sss);
  x.index.pivots = x.in->build_pivots(*x.objects, {.alpha = 0.3, .most = 2}, *place);
  write_index_file(file_, x);
  EXPECT_EQ(read_index_file(file_).index.pivots, x.index.pivots);
  x.index.pivots.most = 3;
  write_index_file(file_, x);
  EXPECT_THAT(refusal(), HasSubstr("the number of pivots is wrong"));
}

TEST_F(IndexFile, CutOffAnywhereIsRefused) {
  write_index_file(file_, make<euclidean>(index_kind::list_of_clusters));
  const std::string whole = read_bytes();
  for (std::size_t size = 0; size < whole.size(); size += 1 + size / 40) {
    write_bytes(whole.substr(0, size));
    refusal();
  }
  write_bytes(whole + "x");
  EXPECT_THAT(refusal(), HasSubstr("cut off or appended to"));
  write_bytes(whole.substr(0, whole.size() - 1));
  EXPECT_THAT(refusal(), HasSubstr("cut off or appended to"));
}

// Every byte except the padding between sections, which holds no data.
TEST_F(IndexFile, EveryDamagedByteShows) {
  write_index_file(file_, make<levenshtein>(index_kind::sss));
  const std::string whole = read_bytes();
  int unseen = 0;
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    write_bytes(damaged);
    try {
      read_index_file(file_);
      EXPECT_EQ(whole[at], '\0') << at;
      ++unseen;
    } catch (const error& e) {
      EXPECT_EQ(e.category(), failure::input);
    }
  }
  EXPECT_LT(unseen, 200);
}

TEST_F(IndexFile, SaysWhatIsWrong) {
  write_bytes("kselect, but no index, and long enough to hold a preamble");
  EXPECT_THAT(refusal(), HasSubstr("is no index file"));
  write_index_file(file_, make<euclidean>(index_kind::none));
  std::string newer = read_bytes();
  newer[8] = 2;
  write_bytes(newer);
  EXPECT_THAT(refusal(), HasSubstr("has version 2"));
}

// The header is whole and its hash is right, but a number in it is not one of bytes.
TEST_F(IndexFile, NumbersOfBytesAreWholeNumbers) {
  write_index_file(file_, make<levenshtein>(index_kind::sss));
  const std::string sound = read_bytes();
  std::uint64_t size = 0;
  std::memcpy(&size, sound.data() + 16, sizeof size);
  for (const char* const member : {"\"offset\":", "\"bytes\":"}) {
    std::string file = sound;
    const std::size_t at = file.find(member) + std::strlen(member);
    const std::size_t end = file.find_first_of(",}", at);
    file.replace(at, end - at, "-1" + std::string(end - at - 2, ' '));  // as long as before
    const std::uint64_t hash = XXH3_64bits(file.data() + 40, size);
    std::memcpy(file.data() + 24, &hash, sizeof hash);
    write_bytes(file);
    EXPECT_THAT(refusal(), HasSubstr("is no whole number")) << member;
  }
}

// The file is complete and its hash is right, but the index does not fit the objects.
TEST_F(IndexFile, InconsistentIndexIsRefused) {
  indexed_objects x = make<euclidean>(index_kind::list_of_clusters);
  std::swap(x.index.clusters.members[0], x.index.clusters.centres[0]);
  x.index.clusters.members[1] = x.index.clusters.members[2];
  write_index_file(file_, x);
  EXPECT_THAT(refusal(), HasSubstr("an object is in two clusters"));
  const auto refused = [&](auto change, const char* why) {
    x = make_within<euclidean>(1);
    change(x.index.clusters);
    write_index_file(file_, x);
    EXPECT_THAT(refusal(), HasSubstr(why));
  };
  refused([](cluster_list& c) { c.starts.pop_back(); }, "starts do not divide");
  refused([](cluster_list& c) { c.starts[1] = -1; }, "starts do not divide");
  refused([](cluster_list& c) { ++c.starts.back(); }, "starts do not divide");
  refused([](cluster_list& c) { c.starts.clear(); }, "section clusters.starts is empty");
  refused([](cluster_list& c) { c.radii[1] = 0; }, "is not the covering radius");
  refused([](cluster_list& c) { c.covering_radius = NAN; }, "is not positive");
  refused([](cluster_list& c) { c.centres.pop_back(); }, "centres and radii differ");
  x = make<euclidean>(index_kind::sss);
  x.index.pivots.distances.pop_back();
  write_index_file(file_, x);
  EXPECT_THAT(refusal(), HasSubstr("wrong size"));
}

// /proc has no free space on any machine.
TEST(IndexFileRoom, IsAskedForBeforeAnIndexIsBuilt) {
  const set_holder<euclidean> objects(test_objects<euclidean>(40, 3));
  require_room((std::filesystem::temp_directory_path() / "x").string(), objects);
  try {
    require_room("/proc/x", objects);
    FAIL();
  } catch (const error& full) {
    EXPECT_EQ(full.category(), failure::output);
    EXPECT_THAT(full.what(), HasSubstr("/proc/x: its 0 MiB do not fit into the 0 MiB"));
  }
}

TEST(HoldOut, SplitsWithoutLoss) {
  const split parts = hold_out(103, 0.2, 5);
  EXPECT_EQ(parts.held_out.size(), 21U);
  std::vector<std::int64_t> all = parts.kept;
  all.insert(all.end(), parts.held_out.begin(), parts.held_out.end());
  std::ranges::sort(all);
  for (std::size_t i = 0; i < 103; ++i) EXPECT_EQ(all[i], static_cast<std::int64_t>(i));
  EXPECT_NE(hold_out(103, 0.2, 6).held_out, parts.held_out);
  for (const double share : {0.0, 1.0, -1.0, 0.001, 0.999}) {
    EXPECT_THROW(hold_out(103, share, 5), error) << share;
  }
}

// The pivots that Barrientos 2011, Sec. 3.2.2 reports: about 73 and one.
TEST(StandIns, ImagesHaveTheThesisPivots) {
  const auto place = open_host_backend(executor_kind::cpu, 2);
  const space& in = find_space("euclidean");
  const stand_in& images = stand_ins[0];
  const euclidean::set vectors(generate(images, images.count, 1, 2), images.count,
                               images.dimension);
  const split parts = hold_out(images.count, 0.2, 1);
  const set_holder<euclidean> kept(vectors.gather(parts.kept));
  const std::int64_t many = in.build_pivots(kept, {.alpha = 0.5}, *place).count();
  EXPECT_GE(many, 70);
  EXPECT_LE(many, 76);
  EXPECT_EQ(in.build_pivots(kept, {.alpha = 0.66}, *place).count(), 1);
}

// The measured intrinsic dimension equals the stated one to a tenth.
TEST(StandIns, HaveTheStatedIntrinsicDimension) {
  for (const stand_in& what : stand_ins) {
    const euclidean::set vectors(generate(what, 4000, 1, 2), 4000, what.dimension);
    const set_holder<euclidean> held(vectors);
    const auto h = sample_distances(find_space("euclidean"), held, 40000, 1);
    EXPECT_NEAR(h.intrinsic_dimension(), what.intrinsic_dimension, what.intrinsic_dimension / 10)
        << what.name;
  }
}

}  // namespace
}  // namespace kselect::search::metric_space
