// One job as the JSON of doc/openapi.yaml, from the journal's row of it and from the engine's
// present state.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/text/handle.hpp"
#include "core/view.hpp"
#include "daemon/loop/processes.hpp"
#include "daemon/settings/roles.hpp"
#include "engine/brief.hpp"
#include "journal/store.hpp"
#include "live/keeper.hpp"

namespace berth::daemon {

/// The code users see for an ended job: doc/openapi.yaml, exit_code.
int exit_code(Outcome outcome, std::int32_t code);
/// True for a job that was adopted and ended by itself: nobody told berth its code.
bool has_unknown_code(const JobSpec& spec, Outcome outcome);
/// `done`, `failed`, ...: one of the fixed state words. A rejected job has failed; its note says
/// why. `known`: what the engine has of it; null for one that has ended.
std::string_view state_word(const journal::JobRow& row, const Job* known);

/// The state that users see: a job that its owner suspended is suspended, not held.
JobState shown_state(const Job& job);

/// Who or what rule suspended it, and where its memory is by the note of its latest attempt; ""
/// for others.
std::string suspended_text(const Job& job, const std::string& note);
/// The same without what one can do about it.
std::string brief_suspended_text(const Job& job, const std::string& note);

/// What holds a job by that note: `held by its owner`, `held because it waits for ...`.
std::string held_text(const std::string& note);

/// `waits for job 7 to end well`: of a deferred job.
std::string deferred_text(const Job& job, const ClusterView& view);

/// `waits until 18:10, because ...`, if the note says why.
std::string with_cause(const std::string& text, const std::string& note);

/// Why jobs wait, as text. Jobs with equal asks wait for the same, so few of a page are explained.
/// Good until the engine's next step.
class Reasons {
 public:
  /// In full, and in few words.
  struct Text {
    std::string full;
    std::string brief;
  };

  explicit Reasons(const Engine& engine, ForeignUse foreign = {})
      : engine_(engine), view_(engine.view()), foreign_(std::move(foreign)) {}
  /// Both are "" for one that does not wait. Good until the next call.
  const Text& of(const Job& job);

 private:
  struct Known {
    UserId user;
    Request request;
    Bytes estimate{0};
    Why decided = Why::Fits;
    Text text;
  };

  Text why_it_waits(JobId job, const std::optional<Refused>& decided) const;

  const Engine& engine_;
  ClusterView view_;
  ForeignUse foreign_;
  std::deque<Known> known_;  ///< The latest first; a few.
  Text own_;                 ///< Of a job with a reserved place; no other job's.
};

/// Where the texts of rows come from.
struct RowTexts {
  Reasons& reasons;
  UserNames& names;
  const live::Keeper& keeper;
  Instant now;
};

/// The jobs of an array as one, from what the engine knows of them and from the journal.
struct ArrayRow {
  ArraySpan span;
  journal::JobRow row;  ///< Of one of its jobs: of the next to start, else of one that runs.
  std::map<std::string_view, std::int64_t> tasks;  ///< How many are in which state.
  std::string_view state;  ///< `running` while one runs; once all have ended, the worst end.
  std::optional<std::int32_t> exit_code;  ///< Once all have: the first that is not 0.
  std::vector<GpuId> gpus;                ///< That its jobs hold; ascending.
  Instant started = kNever;
  Instant ended = kNever;  ///< Once all have.
};
/// Errors: NotFound if nothing of it is kept; as the journal's.
Expected<ArrayRow> array_row(const live::Keeper& keeper, const ArraySpan& span);
/// Appends its object, as one viewer sees it.
void append_array(std::string& out, const ArrayRow& array, const RowTexts& texts,
                  const Viewer& viewer);

/// Which members a row has.
enum class RowForm : std::uint8_t {
  Full,
  Brief,  ///< Those of a line of a list, and of these the ones that say something.
};

/// The same in RowForm::Brief. A row that is damaged has the members that it always has.
void append_brief_row(std::string& out, const journal::JobRow& row, const RowTexts& texts,
                      const Viewer& viewer);

/// Appends the object of one job, as one viewer sees it. Not thread-safe: names are looked up once
/// and kept.
void append_row(std::string& out, const journal::JobRow& row, const RowTexts& texts,
                const Viewer& viewer);

/// Without `job 42: `, where the answer says which.
std::string without_name(const std::string& text);

}  // namespace berth::daemon
