// Goal: no bytes make the journal's readers crash, hang, or take more memory than the bytes
// describe; what they accept is what a writer would have written.
// Method: the first byte chooses the reader, the rest is its bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/assert.hpp"
#include "core/base/bytes.hpp"
#include "engine/journal.hpp"

namespace {

/// What has an older layout is written as one of today.
bool is_of_today(std::string_view bytes) {
  return berth::ByteReader(bytes).integer() == berth::kLayout;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      if (const auto entry = berth::decode_entry(bytes)) {
        BERTH_ASSERT(!is_of_today(bytes) || berth::encode(*entry) == bytes);
      }
      break;
    case 1:
      if (const auto inputs = berth::decode_inputs(bytes)) {
        BERTH_ASSERT(!is_of_today(bytes) || berth::encode_inputs(*inputs) == bytes);
      }
      break;
    default:
      if (const auto decisions = berth::decode_decisions(bytes)) {
        BERTH_ASSERT(!is_of_today(bytes) || berth::encode_decisions(*decisions) == bytes);
      }
  }
  return 0;
}
