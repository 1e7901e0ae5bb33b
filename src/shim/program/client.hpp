// The connection to the `berth run` or `berth attach` that attends a job.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "posix/descriptor.hpp"
#include "shim/attach.hpp"
#include "shim/program/failure.hpp"
#include "shim/program/io.hpp"
#include "shim/program/streams.hpp"

namespace berth::shim {

class Client {
 public:
  Client(Descriptor socket, Outputs outputs) : socket_(std::move(socket)), outputs_(outputs) {}

  /// InOne where its own are one file, as after `2>&1`: two pipes would lose their order.
  Outputs outputs() const { return outputs_; }
  int number() const { return socket_.number(); }
  /// Queues a frame; flush() sends it.
  void send(FrameKind kind, std::string_view bytes) { unsent_ += encode_frame(kind, bytes); }
  bool has_unsent() const { return !unsent_.empty(); }
  /// Sends what fits. Returns: false if the client is gone.
  bool flush();
  /// Flushes until all is sent, the client is gone, or time is up.
  void flush_until(Clock::time_point end);

  /// Reads what is there. Returns: false if the client is gone.
  bool receive();
  /// The next whole frame of those received; nothing if there is none. Errors: BadData.
  Expected<std::optional<Frame>> next() { return reader_.next(); }

 private:
  Descriptor socket_;
  Outputs outputs_;
  std::string unsent_;
  FrameReader reader_;
};

/// Connects by a process of the job's user, so that no socket is reached through berth's rights and
/// no file system of the user's holds the shim up; checks that the listener is this user.
Attempted<Client> connect_client(const Order& order, const Attach& attach);

/// Takes the request to attach that the daemon left beside this attempt file; nothing if there is
/// none that can be read.
std::optional<Attach> take_attach_request(int attempt_file);

}  // namespace berth::shim
