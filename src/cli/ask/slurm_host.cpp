#include "cli/ask/slurm_host.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace berth::cli {

namespace {

namespace fs = std::filesystem;

bool is_a_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// The first in PATH; "" where there is none, or it is a script.
fs::path scontrol_in(const std::string& path) {
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const fs::path program = fs::path(path.substr(at, end - at)) / "scontrol";
    at = end + 1;
    if (!is_a_file(program) || ::access(program.c_str(), X_OK) != 0) continue;
    std::array<char, 2> head{};
    std::ifstream(program, std::ios::binary).read(head.data(), head.size());
    return head == std::array{'#', '!'} ? fs::path() : program;
  }
  return {};
}

std::string variable_or_none(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool is_slurm_host(const std::string& path, const std::string& conf) {
  const fs::path scontrol = scontrol_in(path);
  if (scontrol.empty()) return false;
  if (!conf.empty()) return is_a_file(conf);
  std::error_code ignored;
  const fs::path prefix = fs::weakly_canonical(scontrol, ignored).parent_path().parent_path();
  const auto usual = std::to_array<fs::path>(
      {"/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/run/slurm/conf/slurm.conf",
       prefix / "etc/slurm.conf", prefix / "etc/slurm/slurm.conf"});
  return std::ranges::any_of(usual, is_a_file);
}

bool is_slurm_host() {
  return is_slurm_host(variable_or_none("PATH"), variable_or_none("SLURM_CONF"));
}

}  // namespace berth::cli
