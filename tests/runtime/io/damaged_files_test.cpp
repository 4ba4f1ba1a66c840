// Every prefix of a small file in each format, and every byte of it replaced by several others:
// loading succeeds or throws an error of category input that names the file. Nothing else may
// happen, which the sanitizers watch; nor may a few wrong bytes make it allocate at length.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "runtime/io/vectors.hpp"
#include "tests/runtime/io/input_files.hpp"

// What libhdf5 does with damaged files within the law: it asks malloc for whatever the file says
// and copes with the refusal, which AddressSanitizer by default makes the end of the program
// (operator new still is), and it leaks.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace kselect::runtime {
namespace {

using input_files::folder;
using input_files::gzip;
using input_files::idx;
using input_files::little;
using input_files::npy;
using input_files::npy_literal;

// The most elements that any damaged version may yield; the sound ones have 600 or fewer.
constexpr std::size_t most_elements = 100'000;

// A file whose bytes change in place: rewriting it whole, tens of thousands of times, takes
// minutes.
class victim {
 public:
  explicit victim(const std::filesystem::path& file)
      : path_(file), descriptor_(::open(file.c_str(), O_WRONLY | O_CLOEXEC)) {}
  victim(const victim&) = delete;
  victim& operator=(const victim&) = delete;
  ~victim() { ::close(descriptor_); }

  void put(std::size_t at, unsigned char byte) const {
    ASSERT_EQ(::pwrite(descriptor_, &byte, 1, static_cast<off_t>(at)), 1);
  }
  void cut(std::size_t length) const {
    ASSERT_EQ(::ftruncate(descriptor_, static_cast<off_t>(length)), 0);
  }

  // Loads it. What must not happen is a test failure; returns whether it loaded.
  bool load() const {
    try {
      const vector_set set = load_vectors(path_, {.allow_non_finite = true});
      EXPECT_EQ(std::ssize(set.data), set.count * set.dimension);
      EXPECT_LE(set.data.size(), most_elements);
      return true;
    } catch (const error& e) {
      EXPECT_EQ(e.category(), failure::input) << e.what();
      EXPECT_THAT(e.what(), testing::HasSubstr(path_.string()));
      EXPECT_THAT(e.what(), testing::Not(testing::HasSubstr("\n")));
      return false;
    }
  }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

void damage(const std::string& name, const std::string& content) {
  const folder scratch;
  const victim file(scratch.write(name, content));
  ASSERT_TRUE(file.load());
  for (std::size_t at = 0; at < content.size(); ++at) {
    const auto byte = static_cast<unsigned char>(content[at]);
    for (const int other : {0, 0xff, byte ^ 1, byte ^ 0x80}) {
      if (other == byte) continue;
      SCOPED_TRACE(name + " with byte " + std::to_string(at) + " = " + std::to_string(other));
      file.put(at, static_cast<unsigned char>(other));
      file.load();
    }
    file.put(at, byte);
  }
  ASSERT_TRUE(file.load());
  for (std::size_t length = content.size(); length-- > 0;) {
    SCOPED_TRACE(name + " cut to " + std::to_string(length));
    file.cut(length);
    file.load();
  }
}

const std::vector<float> values = {1, 2, 3, 4, 5, 6};

TEST(DamagedFiles, Npy) {
  damage("x.npy", npy(npy_literal("<f4", "(2, 3)"), little(values)));
  damage("x.npy", npy(npy_literal("<f8", "(1, 1)"), little<double>({1}), 2));
}

TEST(DamagedFiles, Xvecs) {
  const std::string first = little<std::int32_t>({3}) + little<float>({1, 2, 3});
  damage("x.fvecs", first + first);
  damage("x.bvecs", little<std::int32_t>({3}) + "abc" + little<std::int32_t>({3}) + "def");
  damage("x.ivecs", little<std::int32_t>({1, 5, 1, 6, 1, 7}));
}

TEST(DamagedFiles, Idx) {
  damage("x.idx", idx(0x08, {2, 3}, "abcdef"));
  damage("x-idx3-ubyte", idx(0x0B, {1, 2, 2}, "abcdefgh"));
}

TEST(DamagedFiles, CompressedIdx) {
  damage("x.idx.gz", gzip(idx(0x08, {2, 3}, "abcdef")));
  damage("x.idx.gz", gzip(idx(0x08, {20, 30}, std::string(600, 'a'))));
}

TEST(DamagedFiles, Hdf5) {
  const folder scratch;
  input_files::write_hdf5(scratch / "x", "train", {2, 3}, values.data());
  damage("x.h5", input_files::read_file(scratch / "x"));
}

}  // namespace
}  // namespace kselect::runtime
