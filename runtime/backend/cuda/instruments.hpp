#pragma once
// The instruments that measure a GPU: a gate that holds a stream, a probe of the SM clock, and a
// sweep through memory. This is the host side; the kernels are in instruments.cu.

#include <cstddef>
#include <cuda_runtime_api.h>
#include <memory>
#include <optional>
#include <string>

namespace kselect::runtime {

// The driver's message if this program has no code for the current GPU; else empty. Loads a small
// kernel, which creates a context. Other failures are ignored here; the next call reports them.
std::string why_code_does_not_load();

// Holds a stream until the host opens the gate. All work is queued by then, so it starts without
// launch gaps, and events around it time only the work. (nvbench's idea.)
class stream_gate {
 public:
  // A gate that the host does not open within `seconds` opens by itself. Otherwise a wait for the
  // stream would never end.
  explicit stream_gate(double seconds = 2);

  void close(cudaStream_t stream);
  void open();
  // Whether the last gate opened by itself. Valid after a wait for the stream.
  bool expired() const;

 private:
  struct flags {
    int open, expired;
  };
  struct release {
    void operator()(flags* memory) const noexcept;
  };
  std::unique_ptr<flags, release> host_;  // mapped memory: the waiting kernel reads it over the bus
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
    double nanoseconds;  // between the points; below some 50 us the clock is inaccurate
  };
  // Valid after a wait for the stream. Empty if no block ran on that multiprocessor.
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

  std::unique_ptr<stamp, release> stamps_;  // device memory: begin, end
  unsigned* where_ = nullptr;               // the multiprocessor, stored after the stamps
  int blocks_;
  int turn_ = 0;
};

// Reads every byte (a multiple of 16, aligned to 16) as fast as plain loads can.
void read_through(cudaStream_t stream, const std::byte* data, std::size_t bytes,
                  int multiprocessors);

}  // namespace kselect::runtime
