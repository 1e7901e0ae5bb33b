// Goal: no bytes make the trace readers crash, hang or read outside their input.
// Method: the first byte chooses the reader, the rest is its file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      (void)berth::trace::read_tiresias(text, "fuzz");
      break;
    case 1:
      (void)berth::trace::read_tiresias_cluster(text, "fuzz");
      break;
    default:
      (void)berth::trace::parse_cluster(text);
  }
  return 0;
}
