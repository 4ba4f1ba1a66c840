#include "runtime/backend/fault.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

namespace kselect::runtime {
namespace {

using testing::HasSubstr;

TEST(Fault, SaysWhatToDoAboutWhatTakesTheContextWithIt) {
  for (const char* const name : {"cudaErrorIllegalAddress", "cudaErrorMisalignedAddress",
                                 "cudaErrorIllegalInstruction", "cudaErrorLaunchFailure"}) {
    EXPECT_THAT(advice_on_fault(name), HasSubstr("compute-sanitizer")) << name;
  }
  EXPECT_THAT(advice_on_fault("cudaErrorECCUncorrectable"), HasSubstr("nvidia-smi"));
  EXPECT_THAT(advice_on_fault("cudaErrorAssert"), HasSubstr("stderr"));
}

TEST(Fault, IsNotSeenWhereTheContextSurvives) {
  for (const char* const name :
       {"cudaErrorMemoryAllocation", "cudaErrorInvalidValue", "cudaErrorNotReady", ""}) {
    EXPECT_EQ(advice_on_fault(name), "") << name;
  }
}

}  // namespace
}  // namespace kselect::runtime
