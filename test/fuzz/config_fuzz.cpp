// Goal: no configuration makes berthd crash or hang, and one that is accepted holds settings that
// an engine takes.
// Method: the first byte chooses the file, a list of emulated GPUs, a size or a duration; the rest
// is its text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/assert.hpp"
#include "daemon/settings/config.hpp"
#include "emu/emulator.hpp"
#include "engine/possible.hpp"

namespace {

using namespace berth;
using namespace berth::daemon;

void read_file(std::string_view text) {
  Options options;
  if (!read_config(options, text, "berth.toml")) return;
  if (!complete(options, {.user = 1000, .home = "/nowhere", .runtime = ""})) return;
  BERTH_ASSERT(is_sensible(options.rules.settings));
  BERTH_ASSERT(!options.state.empty() && !options.socket.empty());
  BERTH_ASSERT(options.probe > Duration::zero() && options.grace > Duration::zero());
  BERTH_ASSERT(options.slots >= 1 && options.log_cap >= Bytes(0) && options.context >= Bytes(0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      read_file(text);
      break;
    case 1:
      (void)emu::parse_gpus(text);
      break;
    case 2:
      if (const auto bytes = emu::parse_bytes(text)) (void)emu::format_bytes(*bytes);
      break;
    default:
      (void)emu::parse_nanoseconds(text);
  }
  return 0;
}
