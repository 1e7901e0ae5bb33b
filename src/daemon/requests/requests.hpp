// The bodies of requests, read and checked: the answer to a wrong one says what is wrong.
//
// Pure functions of the text and its sender. Whether this machine can meet a request is checked
// later (admit.hpp).
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/job.hpp"
#include "core/text/handle.hpp"
#include "core/text/job_fields.hpp"
#include "daemon/requests/again.hpp"
#include "http/server.hpp"
#include "live/keeper.hpp"

namespace berth::daemon {

/// What a job gets whose submission does not say.
struct JobDefaults {
  CpuMilli cpu{0};           ///< Of a job without GPUs.
  std::set<UserId> shrinks;  ///< Users whose jobs' charges may fall to what they hold.
  /// Of this user; none: patient, but of a service, and of a job that a terminal attends, at once.
  std::optional<Sharing> sharing = std::nullopt;
  Duration longest_time = kForever;  ///< Of a time limit; of a job without one, this.
};

/// POST /v1/jobs. Errors: InvalidArgument naming key, value and limit (`vram_bytes: 0, the least is
/// 1`); BadData for what is not a JSON object of at most a few levels.
Expected<live::Submission> parse_submission(std::string_view body, const http::Peer& peer,
                                            const JobDefaults& defaults = {});

/// What is to be changed of a job that waits.
struct Change {
  std::vector<const JobField*> fields = {};  ///< What is said.
  live::Submission said = {};                ///< The rest of it means nothing.

  bool has(std::string_view field) const {
    return std::ranges::find(fields, field, &JobField::name) != fields.end();
  }
  bool moves() const { return has("gpus") || !said.gpu_types.empty() || !said.gpu_indices.empty(); }
};
/// POST /v1/jobs/ID/update. Errors: as parse_submission().
Expected<Change> parse_change(std::string_view body);

/// POST /v1/jobs/ID/again: `{failed: true}`; the empty text is `{}`. Errors: as parse_submission().
Expected<AgainOf> parse_again(std::string_view body);

/// Jobs that are to be changed with one request.
struct ManyJobs {
  std::vector<Handle> handles;  ///< None: all of `users`.
  std::set<UserId> users;       ///< Whose, of ranges and names.
  std::optional<Change> change;
};
/// POST /v1/cancel and the like: `{jobs: ["643", "train-*"], users: [1000], change: {...}}`; the
/// empty text is `{}`. Errors: as parse_submission().
Expected<ManyJobs> parse_many(std::string_view body);

/// POST /v1/jobs/ID/attach: the client that wants to. Errors: as parse_submission().
Expected<shim::Attach> parse_attach(std::string_view body);

/// GPUs that are to take no more jobs, or to take some again.
struct DrainWish {
  std::optional<std::vector<std::uint32_t>> gpus;  ///< Nothing: all.
  std::string reason;
  Instant until = kNever;
};
/// POST /v1/drain and /v1/undrain. Errors: as parse_submission(); for a GPU that there is not.
Expected<DrainWish> parse_drain(std::string_view body, std::size_t gpus);

/// GPUs that are to be reserved for users.
struct ReservationWish : DrainWish {
  std::vector<std::string> users;  ///< As users_named() takes them.
  std::optional<Instant> from;     ///< Nothing: now.
};
/// POST /v1/reserve. Errors: as parse_drain().
Expected<ReservationWish> parse_reserve(std::string_view body, std::size_t gpus);
/// POST /v1/unreserve: `{reservations: [3]}`. Errors: as parse_submission().
Expected<std::vector<ReservationId>> parse_unreserve(std::string_view body);

}  // namespace berth::daemon
