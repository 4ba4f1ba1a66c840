#include "harness/run/lines.hpp"

#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>

namespace kselect::harness {

void line_socket::write(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = send(socket_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    at += static_cast<std::size_t>(count);
  }
}

std::optional<std::string> line_socket::next() {
  const std::size_t end = received_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

bool line_socket::receive() {
  std::array<char, 65536> part{};
  ssize_t count = 0;
  do {
    count = read(socket_, part.data(), part.size());
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  received_.append(part.data(), static_cast<std::size_t>(count));
  return true;
}

}  // namespace kselect::harness
