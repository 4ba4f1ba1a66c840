#pragma once
// Lines of text over a socket, between a sweep and its worker process (worker.hpp).

#include <optional>
#include <string>

namespace kselect::harness {

class line_socket {
 public:
  explicit line_socket(int socket) : socket_(socket) {}

  // Does nothing if the other end is gone: receive() reports that.
  void write(const std::string& line);
  // The next received line, without its newline; empty if no whole line was received.
  std::optional<std::string> next();
  // Waits for more. False if the other end is gone.
  bool receive();

 private:
  int socket_;
  std::string received_;
};

}  // namespace kselect::harness
