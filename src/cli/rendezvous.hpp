// Where the shim of an attended job finds its `berth run`: a socket in a folder nobody else enters.
#pragma once

#include <optional>
#include <string>

#include "core/error.hpp"
#include "http/socket.hpp"

namespace berth::cli {

class Rendezvous {
 public:
  /// In $XDG_RUNTIME_DIR where that can be written, else in /tmp. Errors: Io naming the folder.
  static Expected<Rendezvous> open();
  Rendezvous(Rendezvous&& other) noexcept = default;
  Rendezvous& operator=(Rendezvous&&) = delete;
  ~Rendezvous();

  const std::string& path() const { return path_; }
  int descriptor() const { return socket_.number(); }
  /// The next who connected and is this user or root; nobody else is let in.
  std::optional<Descriptor> accept() const;

 private:
  Rendezvous() = default;

  std::string path_;
  Descriptor socket_;
};

}  // namespace berth::cli
