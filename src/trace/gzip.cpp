#include "trace/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "trace/tar.hpp"

namespace berth::trace {

namespace {

constexpr std::string_view kMagic = "\x1f\x8b";
constexpr int kGzipOnly = 15 + 16;  // the largest window, and no other wrapping
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib counts in unsigned int

class Inflater {
 public:
  Inflater(std::string_view packed, std::string_view file, std::size_t most)
      : rest_(packed), file_(file), most_(most) {}
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Expected<std::string> run() {
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) return refuse("no memory to unpack it");
    for (;;) {
      feed();
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return damaged();
      if (!drain()) return refuse("more than " + std::to_string(most_) + " bytes of text");
      const bool ended = code == Z_STREAM_END;
      if (ended && left() == 0) return std::move(text_);
      if (ended && !next_member()) {
        return refuse(std::to_string(left()) + " bytes after the end of the gzip data");
      }
      if (code == Z_BUF_ERROR && left() == 0) return refuse("the gzip data is cut short");
    }
  }

 private:
  std::size_t left() const { return stream_.avail_in + rest_.size(); }

  void feed() {
    if (stream_.avail_in == 0) {
      const std::size_t size = std::min(rest_.size(), kMostAtOnce);
      // zlib's type is not const, but it only reads.
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
      stream_.avail_in = static_cast<uInt>(size);
      rest_.remove_prefix(size);
    }
    stream_.next_out = buffer_.data();
    stream_.avail_out = static_cast<uInt>(buffer_.size());
  }

  /// Returns: false if there would be more text than may be.
  bool drain() {
    const std::size_t size = buffer_.size() - stream_.avail_out;
    if (size > most_ - text_.size()) return false;  // before the text grows to twice its size
    text_.append(reinterpret_cast<const char*>(buffer_.data()), size);
    return true;
  }

  bool next_member() {
    const std::string_view here(reinterpret_cast<const char*>(stream_.next_in), stream_.avail_in);
    return here.starts_with(kMagic) && inflateReset(&stream_) == Z_OK;
  }

  std::unexpected<Error> refuse(const std::string& why) const {
    return fail(ErrorCode::BadData, std::string(file_) + ": " + why);
  }
  std::unexpected<Error> damaged() const {
    return refuse("the gzip data is damaged" +
                  (stream_.msg == nullptr ? "" : ": " + std::string(stream_.msg)));
  }

  std::string_view rest_;
  std::string_view file_;
  std::size_t most_;
  z_stream stream_{};
  std::array<Bytef, 1 << 16> buffer_{};
  std::string text_;
};

}  // namespace

namespace {

/// Without the compression, if any.
Expected<std::string> inflated(std::string bytes, std::string_view file, std::size_t most) {
  if (bytes.starts_with(kMagic)) return Inflater(bytes, file, most).run();
  if (file.ends_with(".gz")) {
    return fail(ErrorCode::BadData, std::string(file) + ": is named .gz, but is not gzip data");
  }
  if (bytes.size() > most) {
    return fail(ErrorCode::BadData, std::string(file) + ": " + std::to_string(bytes.size()) +
                                        " bytes, the most is " + std::to_string(most));
  }
  return bytes;
}

}  // namespace

Expected<std::string> unpacked(std::string bytes, std::string_view file, std::size_t most) {
  auto text = inflated(std::move(bytes), file, most);
  if (!text || !is_tar(*text)) return text;
  return only_file_of_tar(*text, file);
}

}  // namespace berth::trace
