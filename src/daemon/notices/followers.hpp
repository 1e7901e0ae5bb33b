// Clients that follow jobs: server-sent events of changes, and ends of logs.
//
// Events are written in slices, user by user, for a user may have a thousand streams and change
// thousands of jobs; on a machine that is not busy that is before the next step. Belongs to the
// engine's thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/attempts/logs.hpp"
#include "daemon/loop/loop.hpp"
#include "daemon/settings/roles.hpp"
#include "http/server.hpp"
#include "live/keeper.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

/// The name of a job's log in the folder of logs.
std::string log_name(JobId job);

class Followers : public live::Audience {
 public:
  /// A job as this one sees it.
  using Describe = std::function<Expected<std::string>(JobId, const Viewer&)>;

  /// Each of which outlives it.
  struct Parts {
    Loop& loop;
    const live::Keeper& keeper;
    Logs& logs;
  };
  Followers(const Parts& parts, Describe describe)
      : parts_(parts), describe_(std::move(describe)) {}

  /// Why this user may not follow all jobs once more; "" if it may. Each such stream is written
  /// whatever happens.
  std::string why_not(UserId user) const;
  /// Events of this job, or of all; from now on.
  void follow(std::shared_ptr<http::Stream> stream, std::optional<JobId> job,
              const Viewer& viewer) {
    users_[viewer.user].followers.push_back({std::move(stream), job, viewer});
  }
  void on_changed(const std::vector<JobId>& jobs) override;

 private:
  struct Follower {
    std::shared_ptr<http::Stream> stream;
    std::optional<JobId> job;
    Viewer viewer;
  };
  struct OfUser {
    std::vector<Follower> followers;
    std::deque<JobId> due;  ///< Changes that are to be told; while there are any, slices are asked.
    std::size_t told = 0;   ///< Of the first, to so many of the followers.
    bool is_over = false;   ///< The first was the end of the job.
    std::map<bool, std::string> events = {};  ///< It, by whether its viewer sees all.
  };
  void note(UserId user, OfUser& of_user, const std::vector<JobId>& jobs);
  bool go_on(UserId user);
  bool tell(OfUser& of_user);

  Parts parts_;
  Describe describe_;
  std::map<UserId, OfUser> users_;
};

}  // namespace berth::daemon
