#include "daemon/requests/again.hpp"

#include <utility>

#include "core/base/limits.hpp"
#include "core/text/handle.hpp"
#include "core/text/points.hpp"
#include "live/command.hpp"

namespace berth::daemon {

namespace {

/// What is learned is learned again, and what it waited for is over.
JobSpec as_asked(const journal::JobRow& row) {
  JobSpec spec = row.spec;
  spec.vram_estimate = Bytes(0);
  if (spec.learned_from > 0) spec.estimate = kForever;
  spec.learned_from = 0;
  if (spec.conditions.is_default()) return spec;
  Conditions& asked = spec.conditions.edit();
  asked.after.clear();
  asked.begin = kStart;
  asked.array = {.first = {}, .task = 0, .tasks = 0, .at_once = asked.array.at_once};
  const bool runs_again = !asked.requeue_on.empty() || asked.requeue_on_gpu_failure;
  if (runs_again) asked.requeues = limits::kMostRequeues;
  return spec;
}

}  // namespace

Expected<bool> Again::advance(const std::function<bool()>& has_time) {
  do {
    if (at_ == jobs_.size()) return false;
    if (auto done = look(jobs_[at_++]); !done) return std::unexpected(done.error());
  } while (has_time());
  return at_ < jobs_.size();
}

Expected<void> Again::look(JobId id) {
  if (keeper_.engine().view().find(id) != nullptr) return {};
  const auto row = keeper_.store().job(id);
  if (!row) return std::unexpected(row.error());
  const bool has_ended = *row && !(*row)->is_damaged && (*row)->end;
  if (!has_ended) return {};
  const bool is_well = (*row)->end->outcome == Outcome::Done;
  return is_well && which_ == AgainOf::EndedNotWell ? Expected<void>() : add(**row);
}

Expected<void> Again::add(const journal::JobRow& row) {
  const ArrayPlace& place = row.spec.conditions->array;
  if (first_) {
    const ArrayPlace& other = first_->spec.conditions->array;
    const bool is_same_array = place.tasks > 0 && place.first == other.first;
    if (!is_same_array) {
      return fail(ErrorCode::InvalidArgument,
                  "jobs " + keeper_.handle_of(first_->job) + " and " + keeper_.handle_of(row.job) +
                      " were not submitted as one; name one job, or tasks of one array");
    }
  }
  if (place.tasks > 0) {
    tasks_.push_back(place.task);
    const Point point = point_of(row.name, place);
    if (!point.empty()) points_.push_back(point_text(point));
  }
  if (!first_) first_ = row;
  return {};
}

Expected<live::Submission> Again::take() {
  const std::string name = jobs_.empty() ? "" : "job " + keeper_.handle_of(jobs_.front()) + ": ";
  if (!first_) {
    return fail(
        ErrorCode::Conflict,
        name + (which_ == AgainOf::Ended
                    ? "has not ended, so it cannot be submitted again"
                    : "neither it nor a task that was named has ended otherwise than well"));
  }
  if (first_->spec.conditions->adopted) {
    return fail(ErrorCode::Conflict, name +
                                         "was adopted: berth did not start it, and does not know "
                                         "how; submit it by berth submit");
  }
  const auto bytes = keeper_.store().blob(first_->spec.command);
  auto command = bytes ? live::decode_command(*bytes) : std::unexpected(bytes.error());
  if (!command) return std::unexpected(command.error());
  if (!command->snapshot.empty()) {
    return fail(ErrorCode::Conflict,
                name +
                    "ran in a copy of the code (--snapshot), which went with it; submit it "
                    "again by berth submit");
  }
  auto environment = keeper_.store().blob(command->environment);
  if (!environment) return std::unexpected(environment.error());
  command->attach.reset();
  const ArrayPlace& place = first_->spec.conditions->array;
  live::Submission again;
  again.name = place.tasks > 0 ? std::string(array_name(first_->name, place)) : first_->name;
  again.spec = as_asked(*first_);
  again.command = std::move(*command);
  again.environment = std::move(*environment);
  again.tasks = std::move(tasks_);
  if (points_.size() == again.tasks.size()) again.points = std::move(points_);
  return again;
}

}  // namespace berth::daemon
