#pragma once
// Lines of text over a socket: how a sweep and its worker talk, at either end (worker.hpp).

#include <optional>
#include <string>

namespace kselect::harness {

class line_socket {
 public:
  explicit line_socket(int socket) : socket_(socket) {}

  // Nothing happens if the other end is gone: receive() will say so.
  void write(const std::string& line);
  // The next line among what was received, without its end.
  std::optional<std::string> next();
  // Waits for more. False if the other end is gone.
  bool receive();

 private:
  int socket_;
  std::string received_;
};

}  // namespace kselect::harness
