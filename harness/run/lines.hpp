#pragma once
// Lines of text over a socket, between a sweep and its worker process (worker.hpp).

#include <cstddef>
#include <optional>
#include <string>

namespace kselect::harness {

// The samples of a cell, of which a config may ask for 10^6, are far below this.
inline constexpr std::size_t longest_line = std::size_t{1} << 27;

class line_socket {
 public:
  explicit line_socket(int socket) : socket_(socket) {}

  // Does nothing if the other end is gone: receive() reports that.
  void write(const std::string& line);
  // Waits until the other end has received all that was sent, by whomever in this process. Returns
  // at once if the descriptor is no socket any more.
  void wait_until_received() const;
  // The next received line, without its newline; empty if no whole line was received.
  std::optional<std::string> next();
  // Waits for more. False if the other end is gone. Throws error(failure::input) for a line that
  // is longer than longest_line.
  bool receive();

 private:
  int socket_;
  std::string received_;
  std::size_t searched_ = 0;  // so much of it holds no newline
};

}  // namespace kselect::harness
