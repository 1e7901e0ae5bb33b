// Goal: no bytes make the HTTP readers crash, hang, hoard or read outside their input, and where
// the bytes were cut changes no request.
// Method: the first two bytes choose the reader and the cuts; the rest comes in one piece and in
// pieces, and the requests read must be the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "http/client.hpp"
#include "http/parser.hpp"

namespace {

using namespace berth::http;

constexpr Limits kLimits = {.header = 16 * 1024, .body = 64 * 1024};

std::string text_of(const Request& request) {
  std::string text = request.method + "|" + request.path + "|" + request.content_type;
  for (const auto& [key, value] : request.query) text += "|" + key + "=" + value;
  return text + "|" + request.body;
}

/// The requests in `bytes`, given at most `most` of them at a time.
std::vector<std::string> requests_in(std::string_view bytes, std::size_t most) {
  std::vector<std::string> requests;
  RequestParser parser(kLimits);
  std::string kept;
  while (!bytes.empty()) {
    kept += bytes.substr(0, most);
    bytes.remove_prefix(std::min(most, bytes.size()));
    for (bool goes_on = true; goes_on && !kept.empty();) {
      const auto used = parser.feed(kept);
      if (!used) return requests;
      if (*used > kept.size() || kept.size() - *used > kLimits.header + most) std::abort();
      kept.erase(0, *used);
      goes_on = parser.is_done();
      (void)parser.take_continue();
      if (goes_on) requests.push_back(text_of(parser.take()));
    }
  }
  return requests;
}

void read_answer(std::string_view bytes, std::size_t most) {
  ResponseParser parser(ResponseParser::Body::AsAnnounced);
  std::string kept;
  std::size_t body = 0;
  while (!bytes.empty() && !parser.is_done()) {
    kept += bytes.substr(0, most);
    bytes.remove_prefix(std::min(most, bytes.size()));
    const auto used = parser.feed(kept, [&](std::string_view piece) { body += piece.size(); });
    if (!used) return;
    kept.erase(0, *used);
  }
  (void)parser.end();
}

void read_events(std::string_view bytes, std::size_t most) {
  std::string whole;
  std::string cut;
  EventReader first;
  first.add(bytes,
            [&](const ServerEvent& event) { whole += event.name + "|" + event.data + "\n"; });
  EventReader second;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(most, bytes.size()))) {
    second.add(bytes.substr(0, most),
               [&](const ServerEvent& event) { cut += event.name + "|" + event.data + "\n"; });
  }
  if (whole != cut) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t most = 1U + data[1] % 64;
  switch (data[0] % 3) {
    case 0:
      if (requests_in(bytes, bytes.size()) != requests_in(bytes, most)) std::abort();
      break;
    case 1:
      read_answer(bytes, most);
      break;
    default:
      read_events(bytes, most);
  }
  return 0;
}
