#include "engine/journal.hpp"

#include "core/base/codec.hpp"
#include "core/members.hpp"

namespace berth {

namespace {

template <class T>
std::string encode_all(std::span<const T> values) {
  ByteWriter out;
  out.integer(kLayout);
  out.integer(static_cast<std::int64_t>(values.size()));
  for (const T& value : values) codec::put(out, value);
  return out.take();
}

template <class T>
Expected<T> decode(std::string_view bytes, const char* what) {
  T value{};
  if (codec::get_kept(bytes, value)) return value;
  return fail(ErrorCode::BadData, std::string("journal: not ") + what + " (" +
                                      std::to_string(bytes.size()) + " bytes)");
}

}  // namespace

inline auto members(JournalEntry& v) { return std::tie(v.now, v.inputs, v.decisions); }

std::string encode_inputs(std::span<const Input> inputs) { return encode_all(inputs); }
std::string encode_decisions(std::span<const Decision> decisions) { return encode_all(decisions); }
std::string encode(const JournalEntry& entry) { return codec::kept(entry); }

Expected<std::vector<Input>> decode_inputs(std::string_view bytes) {
  return decode<std::vector<Input>>(bytes, "a list of inputs");
}
Expected<std::vector<Decision>> decode_decisions(std::string_view bytes) {
  return decode<std::vector<Decision>>(bytes, "a list of decisions");
}
Expected<JournalEntry> decode_entry(std::string_view bytes) {
  return decode<JournalEntry>(bytes, "an entry");
}

}  // namespace berth
