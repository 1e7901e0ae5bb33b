// What users change of jobs: one or thousands with one request.
//
// As many as one step takes at a time, so that a million jobs delay nobody. Of those to be
// cancelled the ones that wait go first, and none of them starts meanwhile.
//
// Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/input.hpp"
#include "core/job.hpp"
#include "daemon/answers/selection.hpp"
#include "daemon/loop/processes.hpp"
#include "daemon/requests/admit.hpp"
#include "daemon/requests/denial.hpp"
#include "daemon/requests/requests.hpp"
#include "daemon/settings/roles.hpp"
#include "http/server.hpp"

namespace berth::daemon {

class Daemon;

enum class JobVerb : std::uint8_t { Cancel, Hold, Release, Suspend, Resume, Update };
/// Of `cancel`, `hold` and so on.
std::optional<JobVerb> job_verb(std::string_view word);

struct JobsToChange {
  enum class Answer : std::uint8_t {
    OfOne,   ///< `{id, state}` of the only job, or why not.
    OfMany,  ///< `{jobs: [{id, state}], refused: [{id, error}, {handle, error}]}`.
  };

  std::shared_ptr<http::Exchange> exchange;
  JobVerb verb = JobVerb::Cancel;
  std::vector<JobId> jobs;
  std::vector<Missing> missing = {};  ///< Handles that stand for none, which are refused.
  Change change = {};                 ///< For Update.
  Answer answer = Answer::OfMany;
  Rights on_others = Rights::Operator;  ///< That the peer needs for jobs of others.
};

class JobChanges {
 public:
  /// Requires: `daemon` outlives it and what is under way.
  explicit JobChanges(Daemon& daemon) : daemon_(daemon) {}

  /// Carries it out, and answers.
  void carry_out(JobsToChange asked);

  /// Why the peer may not act on this job: there is none, or it is another's and the peer has not
  /// these rights. Also names its owner in the audit log.
  std::optional<Denial> why_not(http::Exchange& exchange, JobId id, Rights on_others);
  /// The same for all jobs of a user.
  std::optional<Denial> why_not_of(http::Exchange& exchange, UserId user, Rights on_others);
  /// `alice (uid 1000)`.
  std::string user_text(uid_t user);
  /// `7`, `643_5`.
  std::string handle_of(JobId id) const;
  /// `job 7`, `job 643_5`.
  std::string name_of(JobId id) const { return "job " + handle_of(id); }

 private:
  struct Run;
  using Wanted = std::variant<Input, Denial>;

  Rights rights(const http::Exchange& exchange) const;
  void begin_cancel(Run& run);
  void keep_from_starting(const std::shared_ptr<Run>& run);
  void note_wish(const Run& run);
  void drop_wish(const Run& run);
  void go_on(const std::shared_ptr<Run>& run);
  void go_on_in_turn(const std::shared_ptr<Run>& run);
  void answer(const std::shared_ptr<Run>& run, const std::vector<JobId>& changed);
  http::Response final_answer(const Run& run) const;
  Wanted input_for(const Run& run, JobId id);
  Wanted input_for(JobVerb verb, const Job& job, const std::string& name) const;
  void note_who(const Run& run, const Job& job);
  Wanted updated(const UpdateAsked& asked) const;
  std::string why_not_released(const Job& job) const;
  std::string why_not_suspended(const Job& job) const;

  Daemon& daemon_;
  UserNames names_;
};

}  // namespace berth::daemon
