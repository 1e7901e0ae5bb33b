// Unix sockets by path, of any length, and the user at the other end.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>

#include <expected>
#include <string>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "http/server.hpp"
#include "posix/descriptor.hpp"

namespace berth::http {

enum class Blocking { No, Yes };

struct Address {
  sockaddr_un value = {};
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&value); }
};

/// Connects to the socket at `path`. One that blocks waits for room in the server's queue, for
/// ever unless `patience` says otherwise. Errors: errno; EAGAIN where there was no room so long.
std::expected<Descriptor, int> connect_to(const std::string& path, Blocking blocking,
                                          Duration patience = Duration(0));

/// A listening, non-blocking socket and its file, which goes with it if it is still this one.
class Listener {
 public:
  /// With another berthd that starts there at this moment: two seconds, or none.
  enum class Patience { None, Some };

  /// See Server::open. The file never has more rights than `mode`.
  static Expected<Listener> open(const std::string& path, mode_t mode,
                                 Patience patience = Patience::Some);
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) noexcept = default;
  ~Listener() { remove_file(); }

  /// Whether its path is free. A file that another process put there is not ours.
  bool is_gone() const;
  /// Another one at the same path. Errors: as open(), at once where another begins there.
  Expected<Listener> again() const { return open(path_, mode_, Patience::None); }

  /// The socket, to be closed by the caller.
  int release() { return socket_.release(); }
  /// Call it before the socket closes: no server replaces the file while one listens, so the file
  /// that is removed is the one that was checked.
  void remove_file();

 private:
  Listener(std::string path, mode_t mode, Descriptor folder, std::string name)
      : path_(std::move(path)), mode_(mode), folder_(std::move(folder)), name_(std::move(name)) {}
  Expected<void> listen(const Address& address);
  /// The file takes the rights of the socket's own inode less the umask, so it has no more than
  /// `mode_` from its first moment; what the umask took is given back. Returns: errno, or 0.
  int bind_with_mode(const Address& address);

  std::string path_;
  mode_t mode_;
  Descriptor folder_;
  std::string name_;
  Descriptor socket_;
  struct stat file_ = {};
};

/// Requires: `socket` is a connected unix socket.
Peer peer_of(int socket);

}  // namespace berth::http
