// What users see: jobs and GPUs as the JSON of doc/openapi.yaml.
//
// Reads the engine and the journal; belongs to the engine's thread.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

  enum class Which { Live, Running, Ended, All };
  enum class Order { NewestFirst, OldestFirst };
  struct Page {
    Which which = Which::Live;
    std::optional<UserId> user;
    Order order = Order::NewestFirst;
    std::optional<JobId> beyond;  ///< Only ids below it, or above it with the oldest first.
    std::size_t most = 100;
  };
  /// Costs what the page holds, whatever the number of jobs: where few of many are wanted it may
  /// hold fewer rows than it could, and goes on after it.
  Expected<Json> jobs(const Page& page);
  Json gpus();

 private:
  /// Some jobs of a page.
  struct Part {
    std::vector<journal::JobRow> rows;
    std::optional<JobId> end;  ///< The last one looked at, where there may be more.
  };
  std::optional<JobId> next_live(const Page& page, std::optional<JobId> last) const;
  Expected<Part> live_part(const Page& page) const;
  Expected<Part> ended_part(const Page& page) const;
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
