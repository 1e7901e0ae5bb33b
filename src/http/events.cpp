#include <utility>

#include "http/client.hpp"

namespace berth::http {

void EventReader::add(std::string_view bytes, const Use& use) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    if (line_.ends_with('\r')) line_.pop_back();
    end_line(std::exchange(line_, {}), use);
  }
}

void EventReader::end_line(std::string_view line, const Use& use) {
  if (line.empty()) {
    const ServerEvent event = std::exchange(event_, {});
    if (std::exchange(has_data_, false)) use(event);
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_.name = value;
  if (field != "data") return;
  if (std::exchange(has_data_, true)) event_.data.push_back('\n');
  event_.data.append(value);
}

}  // namespace berth::http
