#include "shim/program/exec.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "shim/ulimits.hpp"

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

/// As shells see it: a folder of PATH that its user may not enter, such as root's after su, has
/// nothing.
bool exists_at(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0;
}

/// No machine code, as far as its beginning tells.
bool is_text(const std::string& path) {
  constexpr std::size_t kHead = 128;
  std::array<char, kHead> head{};
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = read(file, head.data(), head.size());
  close(file);
  const std::string_view begins(head.data(), static_cast<std::size_t>(std::max<ssize_t>(0, size)));
  return !begins.starts_with("\x7f") && !begins.contains('\0');
}

/// As shells, env(1) and execvpe(3) run a text that names no interpreter.
void run_by_shell(const std::string& path, const Vectors& vectors) {
  std::string shell = "/bin/sh";
  std::string file = path;
  std::vector<char*> arguments = {shell.data(), file.data()};
  arguments.insert(arguments.end(), vectors.arguments.begin() + 1, vectors.arguments.end());
  execve(shell.c_str(), arguments.data(), vectors.environment.data());
}

}  // namespace

Vectors vectors_of(const Order& order) {
  Vectors vectors{.arguments = pointers_to(order.arguments),
                  .environment = pointers_to(order.environment)};
  std::erase_if(vectors.environment,
                [](const char* variable) { return variable != nullptr && is_ulimit(variable); });
  return vectors;
}

int exec_program(const Order& order, const Vectors& vectors) {
  const std::string& name = order.arguments.front();
  const auto run = [&](const std::string& file) {
    execve(file.c_str(), vectors.arguments.data(), vectors.environment.data());
    const int error = errno;
    if (error == ENOEXEC && is_text(file)) run_by_shell(file, vectors);
    return error;
  };
  if (name.empty()) return ENOENT;
  if (name.find('/') != std::string::npos) return run(name);
  int found_but = 0;
  std::string_view rest = path_in(order.environment);
  for (;;) {
    const std::size_t colon = rest.find(':');
    std::string file(colon == 0 || rest.empty() ? "." : rest.substr(0, colon));
    const int error = run(file.append("/").append(name));
    if (error == EACCES && exists_at(file)) found_but = EACCES;
    if (error != EACCES && !is_absent(error)) return error;
    if (colon == std::string_view::npos) return found_but == 0 ? ENOENT : found_but;
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace berth::shim
