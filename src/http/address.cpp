#include "http/address.hpp"

namespace berth::http {

std::vector<std::string> socket_candidates(uid_t user, std::string_view xdg_runtime_dir,
                                           std::string_view home) {
  std::vector<std::string> paths;
  if (user != 0 && xdg_runtime_dir.starts_with('/')) {
    paths.push_back(std::string(xdg_runtime_dir) + "/berth.sock");
  }
  if (user != 0 && home.starts_with('/')) {
    paths.push_back(std::string(home) + "/.local/state/berth/berth.sock");
  }
  paths.emplace_back(kSystemSocket);
  return paths;
}

std::string default_socket(uid_t user, std::string_view xdg_runtime_dir, std::string_view home) {
  return socket_candidates(user, xdg_runtime_dir, home).front();
}

}  // namespace berth::http
