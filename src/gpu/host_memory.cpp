#include "gpu/host_memory.hpp"

#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace berth {

namespace {

/// `MemTotal:       16384 kB`.
std::optional<Bytes> line_of(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos || (at > 0 && text[at - 1] != '\n')) return std::nullopt;
  text.remove_prefix(at + name.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::int64_t kibibytes = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), kibibytes);
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (read.ec != std::errc() || kibibytes < 0 || kibibytes > kMost) return std::nullopt;
  return Bytes(kibibytes << 10);
}

}  // namespace

Expected<HostMemory> parse_host_memory(std::string_view text) {
  const auto total = line_of(text, "MemTotal:");
  const auto available = line_of(text, "MemAvailable:");
  if (!total || !available) {
    return fail(ErrorCode::BadData,
                std::string("/proc/meminfo: no ") + (total ? "MemAvailable" : "MemTotal"));
  }
  return HostMemory{.total = *total, .used = std::max(Bytes(0), *total - *available)};
}

Expected<HostMemory> read_host_memory() {
  std::ifstream file("/proc/meminfo");
  return parse_host_memory(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace berth
