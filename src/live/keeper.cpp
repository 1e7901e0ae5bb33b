#include "live/keeper.hpp"

#include <algorithm>

#include "core/text/text.hpp"
#include "engine/journal.hpp"

namespace berth::live {

namespace {

/// The job an input, a decision or an effect is about; nothing for those about none.
template <class Value>
std::optional<JobId> job_of(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::optional<JobId> {
        if constexpr (requires { JobId(held.job); }) {
          return held.job;
        } else {
          return std::nullopt;
        }
      },
      value);
}

std::vector<JobId> touched_by(std::span<const Input> inputs, const Effects& effects) {
  std::vector<JobId> jobs;
  const auto add = [&](const auto& values) {
    for (const auto& value : values) {
      if (const auto job = job_of(value)) jobs.push_back(*job);
    }
  };
  add(inputs), add(effects.decisions), add(effects.list);
  std::ranges::sort(jobs);
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}
}  // namespace

Expected<bool> Keeper::store_part(Submission& submission) {
  auto& arguments = submission.command.more_arguments;
  auto& environment = submission.command.more_environment;
  const bool is_argument = arguments.size() < submission.more_arguments.size();
  if (!is_argument && environment.size() == submission.more_environment.size()) return false;
  if (broken_) return fail(ErrorCode::Io, store_.path() + ": is not written any more");
  if (auto room = check_room(); !room) return std::unexpected(room.error());
  std::string& part = is_argument ? submission.more_arguments[arguments.size()]
                                  : submission.more_environment[environment.size()];
  BlobId blob;
  auto done = with_deferred([&](journal::Store& store) -> Expected<void> {
    const auto added = store.add_blob(part);
    if (!added) return std::unexpected(added.error());
    blob = *added;
    return {};
  });
  if (!done) return std::unexpected(done.error());
  if (!submission.stored) awaited_.push_back(submission.stored = std::make_shared<StoredParts>());
  submission.stored->blobs.push_back(blob);
  (is_argument ? arguments : environment).push_back(blob);
  part = std::string();
  return environment.size() < submission.more_environment.size() ||
         arguments.size() < submission.more_arguments.size();
}

std::vector<BlobId> Keeper::awaited_blobs() {
  std::vector<BlobId> blobs;
  std::erase_if(awaited_, [&](const std::weak_ptr<StoredParts>& weak) {
    const auto stored = weak.lock();
    if (stored) blobs.insert(blobs.end(), stored->blobs.begin(), stored->blobs.end());
    return !stored;
  });
  return blobs;
}

std::vector<Estimated> Keeper::take_late_estimates() {
  const std::uint64_t ended = engine_.view().finished();
  return learning().late(ended - std::exchange(learned_, ended));
}

Rows Keeper::rows() {
  return Rows(
      {.store = store_, .engine = engine_, .host = *host_, .notes = notes_, .findings = findings_});
}

std::string Keeper::handle_of(JobId job) const { return known_handle(job, engine_.view(), store_); }

std::string Keeper::culprit_text(const Overrun& by) const {
  return live::culprit_text(by, handle_of(by.job), *host_);
}

/// Before the place of the run that told it is given to the first of those that wait.
Expected<void> Keeper::add_late_memory(Instant now, Batch& batch) {
  if (!rules_.learn_memory) findings_.memory = {};
  if (!findings_.memory.is_due()) return {};
  std::vector<Input> told = findings_.memory.take(engine_.view(), store_);
  if (auto done = rows().write(now, told); !done) return done;
  std::ranges::move(told, std::back_inserter(batch.inputs));
  return {};
}

/// What follows from the batch is added to its inputs.
Expected<void> Keeper::write_inputs(Instant now, Batch& batch, Stepped& stepped) {
  if (auto done = rows().write(now, batch.inputs); !done) return done;
  if (auto done = add_late_memory(now, batch); !done) return done;
  for (const Submission& submission : batch.submissions) {
    const JobId first = submission.id.value_or(JobId(last_job_.value() + 1));
    stepped.submitted.push_back(first);
    const Arrival arrival{.submission = submission, .first = first, .now = now};
    if (auto done = add_jobs(store_, learning(), arrival, batch.inputs); !done) return done;
    const std::size_t jobs = std::max<std::size_t>(1, submission.tasks.size());
    last_job_ = std::max(last_job_, JobId(first.value() + jobs - 1));
  }
  for (const JobId job : batch.left) {
    if (auto done = rows().let_go(job, batch.inputs); !done) return done;
  }
  if (auto done = notes_.write(store_); !done) return done;
  const std::string bytes = encode_inputs(batch.inputs);
  if (auto done = store_.add_inputs(entry_ + 1, now, bytes); !done) return done;
  snapshots_.add_entry(bytes.size());
  return {};
}

Expected<Stepped> Keeper::step(Instant now, const Batch& batch) {
  Batch own = batch;
  return step(now, own);
}

Expected<Stepped> Keeper::step(Instant now, Batch& batch) {
  Stepped stepped;
  const JobId before = last_job_;
  const auto given = std::ssize(batch.inputs);
  const auto drop_added = [&] {
    batch.inputs.erase(batch.inputs.begin() + given, batch.inputs.end());
  };
  if (auto done = store_.begin(); !done) return std::unexpected(done.error());
  auto written = write_deferred();
  if (written) written = write_inputs(now, batch, stepped);
  if (written) written = store_.commit();
  if (!written) {
    store_.rollback();
    last_job_ = before;
    drop_added();
    return std::unexpected(written.error());
  }
  deferred_.reset();
  notes_.on_written();
  for (const Input& input : batch.inputs) {
    if (const auto* const released = std::get_if<Released>(&input))
      findings_.left.erase(released->job);
  }
  ++entry_;
  last_ = now;
  stepped.effects = &engine_.step(now, batch.inputs);
  ended_ += static_cast<std::uint64_t>(std::ranges::count_if(
      stepped.effects->list,
      [](const Effect& effect) { return std::holds_alternative<Finished>(effect); }));
  stepped.touched = touched_by(batch.inputs, *stepped.effects);
  drop_added();
  if (auto done = write_outcome(now); !done) {
    broken_ = true;
    return std::unexpected(done.error());
  }
  return stepped;
}

/// Decisions before effects. Where there are no effects nothing can be contradicted, so the
/// decisions wait for the next transaction.
Expected<void> Keeper::write_outcome(Instant now) {
  const Effects& effects = engine_.effects();
  deferred_ = encode_decisions(effects.decisions);
  if (effects.list.empty()) return {};
  if (auto done = store_.begin(); !done) return done;
  if (auto done = write_deferred(); !done) return done;
  if (auto done = write_effect_rows(now); !done) return done;
  if (auto done = store_.commit(); !done) return done;
  deferred_.reset();
  return {};
}

/// Inside a transaction if one is open. `deferred_` goes once that is committed.
Expected<void> Keeper::write_deferred() {
  if (!deferred_) return {};
  return store_.add_decisions(entry_, *deferred_);
}

Expected<void> Keeper::write_effect_rows(Instant now) {
  if (ended_early_) {
    for (const Effect& effect : engine_.effects().list) {
      const auto* const finished = std::get_if<Finished>(&effect);
      if (finished != nullptr) ended_early_->push_back(finished->job);
    }
  }
  return rows().write(now, engine_.effects());
}

std::vector<JobId> Keeper::take_ended_early() {
  return std::exchange(ended_early_, std::nullopt).value_or(std::vector<JobId>());
}

Expected<void> Keeper::check_room() {
  if (auto reserved = store_.reserve(); !reserved) return reserved;
  const auto free = host_->free_room();
  if (!free) return std::unexpected(free.error());
  if (*free >= journal::kReserve) return {};
  return fail(ErrorCode::Io, store_.path() + ": its disk has " + to_text(*free) +
                                 " free, jobs are taken in from " + to_text(journal::kReserve) +
                                 " on");
}

Expected<void> Keeper::tidy(const Writing& work) {
  if (broken_) return {};  // no transaction may follow
  return with_deferred(work);
}

Expected<void> Keeper::with_deferred(const Writing& write) {
  if (auto done = store_.begin(); !done) return done;
  auto done = write_deferred();
  if (done) done = write(store_);
  if (done) done = store_.commit();
  if (!done) store_.rollback();
  if (done) deferred_.reset();
  return done;
}

// ---- Snapshots -------------------------------------------------------------------------------

/// Without the state.
journal::Snapshot Keeper::next_snapshot(journal::Continuity continuity) const {
  return {.after = entry_,
          .policy = rules_.policy,
          .place = rules_.place,
          .build = BERTH_VERSION,
          .continuity = continuity,
          .state = {}};
}

Expected<void> Keeper::add_snapshot(journal::Continuity continuity) {
  journal::Snapshot whole = next_snapshot(continuity);
  whole.state = engine_.save();
  return snapshots_.add(store_, whole);
}

Expected<void> Keeper::snapshot_now(journal::Continuity continuity) {
  return with_deferred([&](journal::Store&) { return add_snapshot(continuity); });
}

Expected<void> Keeper::begin_snapshot() {
  return snapshots_.begin(*host_, engine_, next_snapshot(journal::Continuity::Same));
}

Expected<Keeper::SnapshotWork> Keeper::work_on_snapshot() {
  if (broken_) return SnapshotWork::None;  // no transaction may follow
  return snapshots_.work([this](const Writing& write) { return with_deferred(write); });
}

Expected<void> Keeper::snapshot_at_end() {
  if (!snapshots_.is_quick()) return {};
  return snapshot_now(journal::Continuity::Same);
}

}  // namespace berth::live
