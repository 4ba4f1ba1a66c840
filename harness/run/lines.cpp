#include "harness/run/lines.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "harness/harness.hpp"
#include "runtime/error.hpp"

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

void line_socket::wait_until_received() const {
  int unread = 0;
  while (ioctl(socket_, SIOCOUTQ, &unread) == 0 && unread > 0) {
    pollfd other_end{socket_, 0, 0};
    poll(&other_end, 1, 0);
    if ((other_end.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

std::optional<std::string> line_socket::next() {
  const std::size_t end = received_.find('\n', searched_);
  searched_ = end == std::string::npos ? received_.size() : 0;
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
  if (received_.size() > longest_line) {
    throw error(failure::input, "its process sent a line without an end");
  }
  received_.append(part.data(), static_cast<std::size_t>(count));
  return true;
}

}  // namespace kselect::harness
