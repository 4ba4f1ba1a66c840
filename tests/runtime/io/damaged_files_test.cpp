// Loads every prefix of a small file in each format (of HDF5 one of 23, since a child process reads it), and the file
// with every byte replaced by several others. Loading must succeed or throw an error of category input that names
// the file. The sanitizers check that nothing else happens. A few wrong bytes must not cause large
// allocations.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "runtime/io/vectors.hpp"
#include "tests/runtime/io/input_files.hpp"

// With damaged files libhdf5 asks malloc for any size that the file states and handles a null
// result. AddressSanitizer would end the program there by default (for operator new it still does).
// libhdf5 also leaks.
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

// The most elements that a damaged file may yield; sound files have at most 600.
constexpr std::size_t most_elements = 100'000;

// A file whose bytes are changed in place, because rewriting it tens of thousands of times takes
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

  // Loads the file and returns whether that succeeded. Forbidden outcomes are test failures.
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

// `every`: of all damages, one in so many is tried. A format that a child process reads takes
// milliseconds a file.
void damage(const std::string& name, const std::string& content, std::size_t every = 1) {
  std::size_t damages = 0;
  const auto skipped = [&] { return damages++ % every != 0; };
  const folder scratch;
  const victim file(scratch.write(name, content));
  ASSERT_TRUE(file.load());
  for (std::size_t at = 0; at < content.size(); ++at) {
    const auto byte = static_cast<unsigned char>(content[at]);
    for (const int other : {0, 0xff, byte ^ 1, byte ^ 0x80}) {
      if (other == byte || skipped()) continue;
      SCOPED_TRACE(name + " with byte " + std::to_string(at) + " = " + std::to_string(other));
      file.put(at, static_cast<unsigned char>(other));
      file.load();
    }
    file.put(at, byte);
  }
  ASSERT_TRUE(file.load());
  for (std::size_t length = content.size(); length-- > 0;) {
    if (skipped()) continue;
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
  damage("x.h5", input_files::read_file(scratch / "x"), 23);
}

}  // namespace
}  // namespace kselect::runtime
