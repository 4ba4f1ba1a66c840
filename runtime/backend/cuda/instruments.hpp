#pragma once
// What a GPU is measured with: a gate that holds a stream back, a reading of the SM clock, and a
// sweep through memory. Host-side faces of small kernels (instruments.cu).

#include <cstddef>
#include <cuda_runtime_api.h>
#include <memory>
#include <optional>
#include <string>

namespace kselect::runtime {

// The driver's word on whether the GPU that is chosen has code here: loads that of a small kernel,
// and a context with it. Empty if it has; any other obstacle is left to who meets it.
std::string why_code_does_not_load();

// Holds a stream back until the host says so. Work enqueued behind a closed gate starts without the
// gaps that launching it took: events around it enclose the work alone. (nvbench's idea.)
class stream_gate {
 public:
  // A gate that the host does not open in time opens by itself: whoever waits for the stream behind
  // it would wait for ever.
  explicit stream_gate(double seconds = 2);

  void close(cudaStream_t stream);
  void open();
  // Whether the last gate opened by itself. Valid once the stream has been waited for.
  bool expired() const;

 private:
  struct flags {
    int open, expired;
  };
  struct release {
    void operator()(flags* memory) const noexcept;
  };
  std::unique_ptr<flags, release> host_;  // mapped: the waiting kernel reads it over the bus
  flags* device_ = nullptr;
  unsigned long long nanoseconds_;
};

// The mean SM clock between two points of a stream, from %globaltimer and the cycle counter of one
// multiprocessor: the first of those that the current context may use, `multiprocessors` in number.
class clock_probe {
 public:
  explicit clock_probe(int multiprocessors);

  void begin(cudaStream_t stream);
  void end(cudaStream_t stream);
  struct reading {
    double mhz;
    double nanoseconds;  // between the points; below some 50 us the clock is a guess
  };
  // Valid once the stream has been waited for; empty when no block ran on that multiprocessor.
  std::optional<reading> read() const;

  struct stamp {
    unsigned long long nanoseconds;
    long long cycles;
    int turn;
  };

 private:
  struct release {
    void operator()(stamp* memory) const noexcept;
  };
  void launch(cudaStream_t stream, int which);

  std::unique_ptr<stamp, release> stamps_;  // of the device: begin, end
  unsigned* where_ = nullptr;               // the multiprocessor, behind the stamps
  int blocks_;
  int turn_ = 0;
};

// Reads every byte (a multiple of 16, aligned to 16) as fast as plain loads can.
void read_through(cudaStream_t stream, const std::byte* data, std::size_t bytes,
                  int multiprocessors);

}  // namespace kselect::runtime
