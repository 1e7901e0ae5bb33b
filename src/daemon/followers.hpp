// Clients that follow jobs: server-sent events of changes, and ends of logs.
//
// Belongs to the engine's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/logs.hpp"
#include "daemon/roles.hpp"
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

  /// Requires: `keeper` and `logs` outlive it.
  Followers(const live::Keeper& keeper, Logs& logs, Describe describe)
      : keeper_(keeper), logs_(logs), describe_(std::move(describe)) {}

  /// Events of this job, or of all; from now on.
  void follow(std::shared_ptr<http::Stream> stream, std::optional<JobId> job,
              const Viewer& viewer) {
    followers_.push_back({std::move(stream), job, viewer});
  }
  void on_changed(const std::vector<JobId>& jobs) override;

 private:
  struct Follower {
    std::shared_ptr<http::Stream> stream;
    std::optional<JobId> job;
    Viewer viewer;
  };
  void publish(JobId id, bool is_over);

  const live::Keeper& keeper_;
  Logs& logs_;
  Describe describe_;
  std::vector<Follower> followers_;
};

}  // namespace berth::daemon
