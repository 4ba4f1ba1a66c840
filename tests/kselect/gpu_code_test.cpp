// The message of a program without code for a GPU. It follows from the build, so no GPU is needed.

#include "src/gpu_code.hpp"

#include <gtest/gtest.h>

#include "src/gpu_device.hpp"
#include "tests/environment_variable.hpp"

namespace kselect {
namespace {

std::string why(std::string_view architectures, int capability, int driver = 13000) {
  return why_no_code({architectures, "NVIDIA X", capability, 13000, driver});
}

TEST(GpuCode, MachineCodeServesItsMajorVersionFromItsOwnOn) {
  EXPECT_EQ(why("80-real", 80), "");
  EXPECT_EQ(why("80-real", 89), "");
  EXPECT_EQ(why("80-real,90-real", 90), "");
  EXPECT_NE(why("89-real", 80), "");
  EXPECT_NE(why("80-real", 90), "");
  EXPECT_NE(why("90-real", 89), "");
  EXPECT_EQ(why("100-real", 103), "");
  EXPECT_NE(why("100-real", 120), "");
}

TEST(GpuCode, PtxServesAllThatAreNewer) {
  EXPECT_EQ(why("75-virtual", 75), "");
  EXPECT_EQ(why("75-virtual", 90), "");
  EXPECT_EQ(why("80", 120), "");
  EXPECT_NE(why("90", 89), "");
}

TEST(GpuCode, WhatIsOfOneGpuOrOneFamilyIsForNoOther) {
  EXPECT_EQ(why("90a", 90), "");
  EXPECT_NE(why("90a", 100), "");
  EXPECT_EQ(why("100f", 103), "");
  EXPECT_NE(why("100f-virtual", 120), "");
}

TEST(GpuCode, SaysWhatIsThereAndWhatToBuild) {
  EXPECT_EQ(why("80-real;90-real", 75),
            "this program has GPU code for 8.0 and 9.0; the NVIDIA X (7.5) cannot run it: build "
            "again with -DCMAKE_CUDA_ARCHITECTURES=75");
  EXPECT_EQ(why("80-real,90-real,100-real,120", 75),
            "this program has GPU code for 8.0, 9.0, 10.0, 12.0 and newer; the NVIDIA X (7.5) "
            "cannot run it: build again with -DCMAKE_CUDA_ARCHITECTURES=75");
  EXPECT_EQ(code_in_words("75-virtual"), "PTX of 7.5 and newer");
  EXPECT_EQ(code_in_words("90-real"), "9.0");
}

// A driver compiles only PTX of CUDA versions that it supports; machine code runs in any case.
TEST(GpuCode, PtxNeedsADriverAsNewAsTheToolkit) {
  EXPECT_EQ(why("90", 90, 12040), "");
  EXPECT_EQ(why("90", 100, 13000), "");
  EXPECT_EQ(why("90", 100, 12040),
            "for the NVIDIA X (10.0) this program has only PTX of CUDA 13.0, and the driver serves "
            "up to 12.4: build again with -DCMAKE_CUDA_ARCHITECTURES=100, or install a newer "
            "driver");
}

TEST(GpuCode, OnlyLoadingTellsOfWhatIsNoNumber) {
  for (const char* const list : {"native", "all", "all-major", "", "80;native"}) {
    EXPECT_EQ(why(list, 75), "") << list;
  }
  EXPECT_EQ(code_in_words("all-major"), "all-major");
}

// Sets the test switch during its lifetime.
struct cut : test::environment_variable {
  explicit cut(const char* kib) : environment_variable(shared_cut_variable, kib) {}
};

device with_shared(std::size_t bytes) {
  device d;
  d.name = "X";
  d.shared_bytes = bytes;
  return d;
}

TEST(SharedCut, LowersWhatABlockHasAndSaysSoInTheName) {
  device d = with_shared(227 << 10);
  const cut to("64");
  EXPECT_EQ(cut_shared_memory(d), "");
  EXPECT_EQ(d.shared_bytes, std::size_t{64} << 10);
  EXPECT_EQ(d.name, "X (cut to 64 KiB of shared memory a block)");
}

TEST(SharedCut, NeverRaisesIt) {
  device d = with_shared(64 << 10);
  const cut to("99");
  EXPECT_EQ(cut_shared_memory(d), "");
  EXPECT_EQ(d.shared_bytes, std::size_t{64} << 10);
  EXPECT_EQ(d.name, "X");
}

TEST(SharedCut, SaysWhatItTakes) {
  for (const char* const wrong : {"47", "much", "64k", "-64"}) {
    device d = with_shared(227 << 10);
    const cut to(wrong);
    EXPECT_EQ(cut_shared_memory(d), std::string("KSELECT_TEST_SHARED_KIB=") + wrong +
                                        ": give a number of KiB from 48, or unset it");
    EXPECT_EQ(d.shared_bytes, std::size_t{227} << 10);
  }
}

}  // namespace
}  // namespace kselect
