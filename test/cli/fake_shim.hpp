// The other end of shim/attach.hpp, played by a test.
#pragma once

#include <functional>
#include <string>

#include "http/socket.hpp"
#include "shim/attach.hpp"

namespace berth::test {

class FakeShim {
 public:
  explicit FakeShim(const std::string& socket);

  void send(shim::FrameKind kind, const std::string& bytes);
  /// The same, calling `meanwhile` whenever the other side does not take it yet.
  void send_while(const std::function<void()>& meanwhile, shim::FrameKind kind,
                  const std::string& bytes);
  /// The bytes of the next frame of this kind; those of other kinds before it are dropped. Fails
  /// the test after 20 seconds.
  std::string take(shim::FrameKind kind);

 private:
  Descriptor socket_;
  shim::FrameReader frames_;
};

}  // namespace berth::test
