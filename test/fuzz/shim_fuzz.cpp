// Goal: no bytes make the readers of shims and of what they leave behind crash, hang or hoard; what
// is accepted is what a writer would have written, and where a stream was cut changes no frame.
// Method: the first two bytes choose the reader and the cuts, the rest is its bytes. What was read
// is written and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/assert.hpp"
#include "shim/attach.hpp"
#include "shim/order.hpp"
#include "shim/proc.hpp"
#include "shim/record.hpp"

namespace {

using namespace berth;
using namespace berth::shim;

std::string written(const Record& record) {
  std::string text = header_lines(record.job, record.attempt, record.user);
  if (record.shim) text += shim_line(*record.shim);
  if (record.go) text += go_line(*record.go);
  if (record.exit) text += exit_line(*record.exit);
  return text;
}

void read_record(std::string_view text) {
  const auto record = parse_record(text);
  if (!record) return;
  // What is read of any format is written in that of today.
  Record today = *record;
  today.format = kRecordFormat;
  const auto again = parse_record(written(today));
  BERTH_ASSERT(again.has_value() && *again == today);
  if (record->exit) BERTH_ASSERT(shell_code(*record->exit) >= 0 && shell_code(*record->exit) < 256);
  // A writer that dies in its next line takes nothing back.
  const auto cut = parse_record(std::string(text.substr(0, text.rfind('\n') + 1)) + "exit co");
  BERTH_ASSERT(cut.has_value() && *cut == *record);
}

/// The frames in `bytes`, given `most` of them at a time.
std::string frames_in(std::string_view bytes, std::size_t most) {
  FrameReader reader;
  std::string found;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(most, bytes.size()))) {
    reader.add(bytes.substr(0, most));
    while (true) {
      const auto frame = reader.next();
      if (!frame) return found + "bad";
      if (!*frame) break;
      BERTH_ASSERT((*frame)->bytes.size() <= kLargestFrame);
      found += encode_frame((*frame)->kind, (*frame)->bytes);
    }
  }
  return found;
}

void read_frames(std::string_view bytes, std::size_t most) {
  const std::string whole = frames_in(bytes, std::max<std::size_t>(1, bytes.size()));
  BERTH_ASSERT(frames_in(bytes, most) == whole);
  BERTH_ASSERT(whole.ends_with("bad") || bytes.starts_with(whole));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  switch (data[0] % 5) {
    case 0:
      read_record(bytes);
      break;
    case 1:
      if (const auto order = decode_order(bytes)) BERTH_ASSERT(encode(*order) == bytes);
      break;
    case 2:
      if (const auto event = decode_event(bytes)) BERTH_ASSERT(encode(*event) == bytes);
      break;
    case 3:
      read_frames(bytes, 1U + data[1] % 64);
      break;
    default:
      (void)parse_stat(bytes);
  }
  return 0;
}
