#pragma once
// Seconds of the host's steady clock.

#include <chrono>

namespace kselect::search {

// Counts from its construction on.
class seconds_since {
 public:
  double get() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Adds the seconds of its own life to a number.
class seconds_into {
 public:
  explicit seconds_into(double& sum) : sum_(sum) {}
  ~seconds_into() { sum_ += since_.get(); }
  seconds_into(const seconds_into&) = delete;
  seconds_into& operator=(const seconds_into&) = delete;

 private:
  double& sum_;
  seconds_since since_;
};

}  // namespace kselect::search
