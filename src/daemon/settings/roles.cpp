#include "daemon/settings/roles.hpp"

#include <unistd.h>

#include <algorithm>

namespace berth::daemon {

bool NamedUsers::has(const http::Peer& peer) const {
  const auto is_named = [this](gid_t group) { return groups.contains(group); };
  return users.contains(peer.user) || is_named(peer.group) ||
         std::ranges::any_of(peer.groups, is_named);
}

Rights rights_of(const http::Peer& peer, const Roles& roles) {
  if (peer.user == 0 || peer.user == ::geteuid() || roles.admins.has(peer)) return Rights::Admin;
  return roles.operators.has(peer) ? Rights::Operator : Rights::User;
}

}  // namespace berth::daemon
