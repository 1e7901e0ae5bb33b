// Where the shim of an attended job finds its `berth run`: a socket in a folder of the user alone.
#pragma once

#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "http/socket.hpp"

namespace berth::cli {

class Rendezvous {
 public:
  /// In $XDG_RUNTIME_DIR where that can be written, else in /tmp. Removes what runs of this user
  /// left there that were killed. Errors: Io naming the folder.
  static Expected<Rendezvous> open();
  Rendezvous(Rendezvous&& other) noexcept = default;
  Rendezvous& operator=(Rendezvous&&) = delete;
  ~Rendezvous();

  const std::string& path() const { return path_; }
  int descriptor() const { return socket_.number(); }
  /// The next connection of this user or root; other users are refused.
  std::optional<Descriptor> accept() const;

 private:
  Rendezvous() = default;

  std::string path_;
  Descriptor socket_;
};

}  // namespace berth::cli
