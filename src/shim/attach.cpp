#include "shim/attach.hpp"

namespace berth::shim {

namespace {

constexpr std::size_t kHead = 5;
constexpr auto kLastKind = static_cast<unsigned>(FrameKind::Detached);

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

std::size_t length_in(std::string_view head) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) length |= std::size_t{byte_at(head, 1 + i)} << (8 * i);
  return length;
}

}  // namespace

std::string encode_frame(FrameKind kind, std::string_view bytes) {
  std::string frame(1, static_cast<char>(kind));
  frame.reserve(kHead + bytes.size());
  for (int i = 0; i < 4; ++i) frame.push_back(static_cast<char>(bytes.size() >> (8 * i)));
  return frame.append(bytes);
}

void FrameReader::add(std::string_view bytes) {
  buffer_.erase(0, used_);
  used_ = 0;
  buffer_.append(bytes);
}

Expected<std::optional<Frame>> FrameReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(used_);
  if (rest.empty()) return std::nullopt;
  const unsigned kind = byte_at(rest, 0);
  if (kind == 0 || kind > kLastKind) {
    return fail(ErrorCode::BadData, "frame of kind " + std::to_string(kind) +
                                        ", the known ones are 1 to " + std::to_string(kLastKind));
  }
  if (rest.size() < kHead) return std::nullopt;
  const std::size_t length = length_in(rest);
  if (length > kLargestFrame) {
    return fail(ErrorCode::BadData, "frame of " + std::to_string(length) + " bytes, the most is " +
                                        std::to_string(kLargestFrame));
  }
  if (rest.size() < kHead + length) return std::nullopt;
  used_ += kHead + length;
  return Frame{static_cast<FrameKind>(kind), std::string(rest.substr(kHead, length))};
}

}  // namespace berth::shim
