// Unix sockets by path, however long the path is, and who is at the other end.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>

#include <expected>
#include <string>

#include "core/error.hpp"
#include "http/server.hpp"
#include "posix/descriptor.hpp"

namespace berth::http {

enum class Blocking { No, Yes };

struct Address {
  sockaddr_un value = {};
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&value); }
};

/// Connects to the socket at `path`. Errors: errno.
std::expected<Descriptor, int> connect_to(const std::string& path, Blocking blocking);

/// A listening, non-blocking socket and its file, which goes with it if it is still this one.
class Listener {
 public:
  /// See Server::open. The file never has more rights than `mode`.
  static Expected<Listener> open(const std::string& path, mode_t mode);
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener() { remove_file(); }

  /// The socket, to be closed by the caller.
  int release() { return socket_.release(); }
  /// To be called before the socket closes: while somebody listens nobody replaces the file, so
  /// what is removed is what was looked at.
  void remove_file();

 private:
  Listener(Descriptor folder, std::string name)
      : folder_(std::move(folder)), name_(std::move(name)) {}
  Expected<void> listen(const std::string& path, const Address& address, mode_t mode);
  /// The file takes the rights of the socket's own inode less the umask, so it has no more than
  /// `mode` from its first moment; what the umask took is given back. Returns: errno, or 0.
  int bind_with_mode(const Address& address, mode_t mode);

  Descriptor folder_;
  std::string name_;
  Descriptor socket_;
  struct stat file_ = {};
};

/// Requires: `socket` is a connected unix socket.
Peer peer_of(int socket);

}  // namespace berth::http
