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
  /// Makes the socket again where somebody has deleted it, as who empties /tmp does: a job may wait
  /// for days, and its shim knows this one place.
  void keep();
  Rendezvous(Rendezvous&& other) noexcept = default;
  Rendezvous& operator=(Rendezvous&&) = delete;
  ~Rendezvous();

  /// By this process's own root: its /tmp may be another than berthd's, as under systemd's
  /// PrivateTmp, pam_namespace or a snap. A shim that may not look there takes what stands behind.
  std::string path() const;
  int descriptor() const { return socket_.number(); }
  /// The next connection of this user or root; other users are refused.
  std::optional<Descriptor> accept() const;

 private:
  Rendezvous() = default;

  std::string file_;
  Descriptor socket_;
};

}  // namespace berth::cli
