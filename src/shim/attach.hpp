// Between a shim and the `berth run` that attends its job: frames over one unix stream socket.
//
// `berth run` listens, the shim connects as the job's user. A frame is a kind (one byte), a length
// (four bytes, little) and that many bytes.
//
// A `berth run` that closes its socket, shuts down its sending side or sends what is no frame is
// gone: its job's process group gets SIGHUP and SIGCONT, as from a terminal that closes, and what
// is left after the grace is killed. One that does not read holds the job's output back, as a
// terminal does; a job that does not read its input holds `berth run` back, frames behind the input
// too. Nothing comes after Exit: what a read says then, end or reset, says nothing about the job.
//
// A client that detached, or was attached to a job that ran already, may go without taking the job
// along. A shim lives as long as its job and may be older than its client, and takes a client that
// sends a kind it does not know for gone. So a client may ask, by an Input without bytes, and a
// shim answers with Hello: its kProtocol says which kinds it knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace berth::shim {

enum class FrameKind : std::uint8_t {
  // From `berth run`.
  Input = 1,     ///< Bytes for the job's standard input.
  InputEnd = 2,  ///< There will be no more; a pty gets its end-of-file character.
  Signal = 3,    ///< One byte: for the job's process group; of a pty, the one in the foreground.
  Resize = 4,    ///< Rows and columns, two bytes each, little: of the pty.
  // From the shim.
  Output = 5,     ///< Standard output, or all that a pty shows.
  Error = 6,      ///< Standard error.
  Exit = 7,       ///< One byte: the code that users see. The last frame.
  Hello = 8,      ///< From the shim, once it was asked: one byte, its kProtocol.
  Detach = 9,     ///< From the client, which goes once it has Detached; the job stays.
  Detached = 10,  ///< From the shim: one byte, Parting. The last frame.
};

inline constexpr char kProtocol = 1;
enum class Parting : char {
  Wished,    ///< The client asked for it.
  Replaced,  ///< Another client took its place.
};

struct Frame {
  FrameKind kind;
  std::string bytes;
};

/// The most bytes in one frame, its head not counted.
inline constexpr std::size_t kLargestFrame = 64 * 1024;

std::string encode_frame(FrameKind kind, std::string_view bytes);

/// Frames out of a stream that comes in pieces.
class FrameReader {
 public:
  void add(std::string_view bytes);
  /// The next whole frame; nothing if it has not all come. Errors: BadData for a frame of an
  /// unknown kind or larger than kLargestFrame.
  Expected<std::optional<Frame>> next();

 private:
  std::string buffer_;
  std::size_t used_ = 0;  ///< Bytes of it that were given out as frames.
};

}  // namespace berth::shim
