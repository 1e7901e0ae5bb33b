// GPUs that are reserved for users, as requests name them and answers show them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/view.hpp"
#include "daemon/loop/json_text.hpp"
#include "daemon/loop/processes.hpp"

namespace berth::daemon {

/// The users of these names: of accounts, numbers, and the members of groups, as `@lab`; ascending.
/// Errors: InvalidArgument naming one that is not on this machine.
Expected<std::vector<UserId>> users_named(const std::vector<std::string>& typed);

/// `alice, @lab from 2026-11-30 22:00 +0100 until 2026-12-01 06:00 +0100`, without a beginning of
/// what begins now. In the machine's zone.
std::string shown_as(const std::vector<std::string>& typed, const Reservation& made, Instant now);

/// `bob`, `bob until 2026-11-30 18:00 +0100`: who drained a GPU, and until when.
std::string drained_as(const std::string& by, Instant until);

/// Why it cannot be beside those there are: one for other users at the same time; "" if it can.
std::string conflict_of(const Reservation& made, const ClusterView& view);

/// `{id, gpus, users, text, from_at, until_at, by, reason, in_force}`.
Json reservation_json(ReservationId id, const ClusterView& view, UserNames& names);
/// All of them, the first to begin first.
Json reservations_json(const ClusterView& view, UserNames& names);
/// `{job, user, gpus, ends_by_at}`: the jobs of others on its GPUs that may be there when it
/// begins; ends_by_at is null of one without a time limit.
Json in_the_way(const Reservation& made, const ClusterView& view, UserNames& names);

}  // namespace berth::daemon
