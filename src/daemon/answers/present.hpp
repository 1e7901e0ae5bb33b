// Jobs and GPUs for users, as the JSON of doc/openapi.yaml.
//
// Reads the engine and the journal; belongs to the engine's thread.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/error.hpp"
#include "core/text/points.hpp"
#include "daemon/answers/row.hpp"
#include "daemon/attempts/container.hpp"
#include "daemon/limits/device_files.hpp"
#include "daemon/limits/limits.hpp"
#include "daemon/limits/mps.hpp"
#include "daemon/loop/json_text.hpp"
#include "daemon/loop/processes.hpp"
#include "daemon/machine/machine.hpp"
#include "daemon/settings/roles.hpp"
#include "live/keeper.hpp"
#include "live/watcher.hpp"

namespace berth::daemon {

/// JSON text; bytes that are no UTF-8 are replaced.
std::string to_body(const Json& json);

/// What may keep jobs to their memory; null where there is none of a kind.
struct Enforcers {
  const Limits* limits = nullptr;
  const Mps* mps = nullptr;
  std::function<std::string(JobId, Attempt)> cgroup_of = {};  ///< Of an attempt; "" for none.
  const DeviceRules* device_rules = nullptr;
  std::function<std::string(JobId)> untold = {};  ///< How its latest notification failed; or "".
  std::function<Instant()> now = {};  ///< The clock; none: the latest step's time is told.
};

class Presenter {
 public:
  Presenter(const live::Keeper& keeper, const Machine& machine, const live::Watcher& watcher,
            Enforcers enforcers = {})
      : keeper_(keeper),
        machine_(machine),
        watcher_(watcher),
        limits_(enforcers.limits),
        mps_(enforcers.mps),
        cgroup_of_(std::move(enforcers.cgroup_of)),
        device_rules_(enforcers.device_rules),
        untold_(std::move(enforcers.untold)),
        now_(std::move(enforcers.now)) {}

  /// One job as JSON, with what the engine knows of it now. Errors: NotFound for an id that no job
  /// ever had.
  Expected<std::string> job(JobId id, const Viewer& viewer);
  enum class Words : std::uint8_t { All, None };
  /// With all that is known of it, without its command if there is to be none.
  Expected<std::string> detail(JobId id, const Viewer& viewer,
                               std::optional<std::int64_t> log_bytes, Words words = Words::All);
  /// A command of which some arguments are in blobs of their own.
  struct LongCommand {
    std::string json;  ///< `{"command":["a"`.
    std::vector<BlobId> more;
    Point point;  ///< Of a task of a sweep.
  };
  /// Nothing for a usual one, and where the viewer may not see it.
  std::optional<LongCommand> long_command(JobId id, const Viewer& viewer) const;
  /// The jobs of an array as one; with `failed_tasks`, the first few that did not end well.
  Expected<std::string> array(const ArraySpan& span, const Viewer& viewer);
  /// `{id, state}`, and `handle` of a task of an array.
  Json brief(JobId id) const;
  /// Appends what job() gives. `reasons` are of this step.
  void append_row(std::string& out, const journal::JobRow& row, Reasons& reasons,
                  const Viewer& viewer);
  /// The same in RowForm::Brief.
  void append_brief_row(std::string& out, const journal::JobRow& row, Reasons& reasons,
                        const Viewer& viewer);
  void append_array(std::string& out, const ArrayRow& array, Reasons& reasons,
                    const Viewer& viewer);
  /// What keeps a job to its memory, and what that does not catch, in one line; "" for a job
  /// without GPUs.
  std::string rung_line(JobId id) const;
  /// What connects the GPUs of a job that holds several; "" where nothing is known.
  std::string links_line(JobId id) const;
  /// Why jobs wait at this step, naming non-berth processes.
  Reasons reasons();
  Json gpus(const Viewer& viewer);
  /// The non-berth processes of each GPU that has some, in words.
  std::map<GpuId, std::string> foreign_texts();
  /// Those of one GPU, each with its number: `process 4711 (python of bob), 8 GiB`.
  std::string strangers_text(GpuId gpu);

 private:
  Expected<journal::JobRow> row(JobId id) const;
  Instant now() const;
  Json tenants(GpuId gpu, const Viewer& viewer);
  std::string name_of(uid_t user, const Surrounding& where);
  /// `viewer`: whose processes say that they are theirs.
  Json strangers(GpuId gpu, std::optional<UserId> viewer = {});
  std::string foreign_text(GpuId gpu);
  bool is_tenant(JobId job, GpuId gpu) const;
  Json gpu(GpuId gpu, const Viewer& viewer);
  std::optional<Rung> rung_of(JobId id) const;
  bool is_mps_client(const Job& job) const;
  void add_rung(std::string& object, JobId id) const;
  void add_measured(Json& json, const Job& job);

  const live::Keeper& keeper_;
  const Machine& machine_;
  const live::Watcher& watcher_;
  const Limits* limits_;
  const Mps* mps_;
  std::function<std::string(JobId, Attempt)> cgroup_of_;
  const DeviceRules* device_rules_;
  std::function<std::string(JobId)> untold_;
  std::function<Instant()> now_;
  UserNames names_;
};

}  // namespace berth::daemon
