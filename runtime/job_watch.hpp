#pragma once
// Follows work that takes long: it hears how far the work is, and says whether it shall end.

#include <cstdint>

namespace kselect::runtime {

class job_watch {
 public:
  virtual ~job_watch() = default;
  // So many units of the running step are done. One thread calls it.
  virtual void reached(std::int64_t done) = 0;
  // Whether the work shall end before it is done. Any thread may ask, often.
  virtual bool stopping() const = 0;
  // Throws error(failure::interrupted), which says what is kept, if the work shall end.
  virtual void end_if_stopping() const = 0;
};

}  // namespace kselect::runtime
