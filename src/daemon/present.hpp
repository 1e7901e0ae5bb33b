// What users see: jobs and GPUs as the JSON of doc/openapi.yaml.
//
// Reads the engine and the journal; belongs to the engine's thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "daemon/keeper.hpp"
#include "daemon/machine.hpp"
#include "daemon/processes.hpp"
#include "daemon/watcher.hpp"

namespace berth::daemon {

using Json = nlohmann::json;

/// The code users see for an ended job: doc/openapi.yaml, exit_code.
int exit_code(Outcome outcome, std::int32_t code);
/// `done`, `failed`, ...: one of the fixed state words. A rejected job has failed; its note says
/// why.
std::string_view state_word(Outcome outcome);
std::string_view state_word(JobState state);

/// JSON text; bytes that are no UTF-8 are replaced.
std::string to_body(const Json& json);

class Presenter {
 public:
  Presenter(const Keeper& keeper, const Machine& machine, const Watcher& watcher)
      : keeper_(keeper), machine_(machine), watcher_(watcher) {}

  /// Errors: NotFound for an id that no job ever had.
  Expected<Json> job(JobId id);
  Expected<Json> detail(JobId id, std::int64_t log_bytes);
  /// One row, with what the engine knows of it now.
  Json row(const journal::JobRow& row);
  /// `{id, state}`.
  Json brief(JobId id);

  struct Page {
    bool ended = false;  ///< Also jobs that have ended.
    std::optional<UserId> user;
    JobId before{~std::uint64_t{0}};
    std::size_t most = 100;
  };
  Expected<Json> jobs(const Page& page);
  Json gpus();

 private:
  Json tenants(GpuId gpu);
  Json strangers(GpuId gpu);
  Json gpu(GpuId gpu);
  void add_measured(Json& json, const Job& job);

  const Keeper& keeper_;
  const Machine& machine_;
  const Watcher& watcher_;
  UserNames names_;
};

}  // namespace berth::daemon
