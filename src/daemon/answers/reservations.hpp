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

/// `alice from 22:00 until 06:00 CET`, `alice, @lab until 06:00 CET` of what begins now; with dates
/// if it is not over within a day. In the machine's zone, which it names.
std::string shown_as(const std::vector<std::string>& typed, const Reservation& made, Instant now);

/// `bob`, `bob until 18:00 CET`: who drained a GPU, and until when, likewise.
std::string drained_as(const std::string& by, Instant until, Instant now);

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
