// Who may do what: a user acts on their own jobs, an operator also on those of others and on GPUs,
// an administrator on everything.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>

#include "core/base/ids.hpp"
#include "http/server.hpp"

namespace berth::daemon {

/// By name in berth.toml: users, and groups as `@NAME`.
struct NamedUsers {
  std::set<uid_t> users;
  std::set<gid_t> groups;

  /// Groups are those that the peer had when it connected.
  bool has(const http::Peer& peer) const;
  bool operator==(const NamedUsers&) const = default;
};

struct Roles {
  NamedUsers operators;
  NamedUsers admins;

  bool operator==(const Roles&) const = default;
};

/// Each may do what those before it may.
enum class Rights : std::uint8_t { User, Operator, Admin };

/// Root and berthd's own user are administrators.
Rights rights_of(const http::Peer& peer, const Roles& roles);

/// Who looks at jobs: the arguments of others' commands are hidden where that is configured.
struct Viewer {
  UserId user;
  bool sees_all = true;
  bool is_admin = true;

  bool sees(UserId owner) const { return sees_all || user == owner; }
};

}  // namespace berth::daemon
