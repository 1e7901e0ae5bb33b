#include "shim/program/exec.hpp"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace berth::shim {

namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::string_view path_in(const std::vector<std::string>& environment) {
  constexpr std::string_view kName = "PATH=";
  for (const std::string_view variable : environment) {
    if (variable.starts_with(kName)) return variable.substr(kName.size());
  }
  return "/bin:/usr/bin";  // what execvp takes then
}

/// The program is not there: the next folder may have it.
bool is_absent(int error) {
  return error == ENOENT || error == ENOTDIR || error == ESTALE || error == ENODEV ||
         error == ETIMEDOUT;
}

}  // namespace

Vectors vectors_of(const Order& order) {
  return {.arguments = pointers_to(order.arguments), .environment = pointers_to(order.environment)};
}

int exec_program(const Order& order, const Vectors& vectors) {
  const std::string& name = order.arguments.front();
  const auto run = [&](const std::string& file) {
    execve(file.c_str(), vectors.arguments.data(), vectors.environment.data());
    return errno;
  };
  if (name.empty()) return ENOENT;
  if (name.find('/') != std::string::npos) return run(name);
  int found_but = 0;
  std::string_view rest = path_in(order.environment);
  for (;;) {
    const std::size_t colon = rest.find(':');
    std::string file(colon == 0 || rest.empty() ? "." : rest.substr(0, colon));
    const int error = run(file.append("/").append(name));
    if (error == EACCES) found_but = EACCES;
    if (error != EACCES && !is_absent(error)) return error;
    if (colon == std::string_view::npos) return found_but == 0 ? ENOENT : found_but;
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace berth::shim
