#include "live/new_jobs.hpp"

#include <utility>

#include "core/knowledge/memory_estimate.hpp"
#include "core/text/points.hpp"

namespace berth::live {

namespace {

/// `train[3]`, after the program for an array without a name.
std::string name_in(const Submission& submission, std::size_t index) {
  std::string name = submission.name;
  if (name.empty()) {
    const std::string& program = submission.command.arguments.front();
    name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  }
  return task_name(name, submission.tasks[index],
                   submission.points.empty() ? "" : submission.points[index]);
}

/// The line of a sweep's task for lists.
std::string line_in(const Submission& submission, std::size_t index) {
  constexpr std::size_t kEnough = 200;
  const Point point = parse_point(submission.points[index]).value_or(Point());
  std::vector<std::string> words;
  std::size_t size = 0;
  for (const std::string& word : submission.command.arguments) {
    if (size > kEnough) break;  // more would be cut
    size += words.emplace_back(filled(word, point)).size() + 1;
  }
  return command_line(words);
}

/// With its words, those too that were not stored before.
Expected<Command> command_in(journal::Store& store, const Submission& submission) {
  const auto environment = store.add_blob(submission.environment);
  if (!environment) return std::unexpected(environment.error());
  Command command = submission.command;
  command.environment = *environment;
  for (const auto& [parts, blobs] :
       {std::pair(&submission.more_arguments, &command.more_arguments),
        std::pair(&submission.more_environment, &command.more_environment)}) {
    while (blobs->size() < parts->size()) {
      const auto blob = store.add_blob((*parts)[blobs->size()]);
      if (!blob) return std::unexpected(blob.error());
      blobs->push_back(*blob);
    }
  }
  return command;
}

/// Nobody is told of an array before all of it is there.
Expected<void> note_arrival(journal::Store& store, const Arrival& arrival, std::size_t end) {
  const Submission& submission = arrival.submission;
  const std::size_t tasks = submission.tasks.size();
  const bool begins = submission.arrived == 0;
  const bool ends = end >= tasks;
  if (begins && !ends) return store.add_arriving(arrival.first, static_cast<std::int64_t>(tasks));
  if (ends && !begins) return store.drop_arriving(arrival.first);
  return {};
}

/// Takes out what tasks with other numbers wait for.
void leave_to_others(JobSpec& spec, const Submission& submission, std::size_t index) {
  std::erase_if(spec.conditions.edit().after, [&](const Dependency& on) {
    const auto found = submission.only_for.find(on.job);
    return found != submission.only_for.end() && found->second != submission.tasks[index];
  });
}

}  // namespace

bool leaves_memory_open(const GpuRequest& gpu) {
  return gpu.vram == Bytes(0) && gpu.sharing != Sharing::Alone && gpu.count > GpuCount(0);
}

bool has_gpu_for(Bytes learned, const Cluster& cluster) {
  return std::ranges::any_of(
      cluster.gpus(), [&](const GpuSpec& one) { return learned + one.context < one.capacity; });
}

Lessons Learning::lessons() const {
  return {.runs = view_.past_runs(),
          .fewest = static_cast<std::size_t>(rules_.learn_run_times_after)};
}

JobSpec Learning::with_estimate(const Submission& submission) const {
  JobSpec spec = submission.spec;
  spec.vram_estimate = memory_of(submission, 0);
  if (!rules_.learn_run_times) return spec;
  learn_estimate(spec, fingerprint_of(submission.command), lessons());
  return spec;
}

Bytes Learning::memory_of(const Submission& submission, std::size_t index) const {
  const JobSpec& spec = submission.spec;
  if (!rules_.learn_memory || !leaves_memory_open(spec.request.gpu)) return spec.vram_estimate;
  const auto task =
      submission.tasks.empty() ? std::nullopt : std::optional(submission.tasks[index]);
  const Point point =
      submission.points.empty() ? Point() : parse_point(submission.points[index]).value_or(Point());
  const Fingerprint what = point.empty() ? memory_fingerprint_of(submission.command, task)
                                         : memory_fingerprint_of(submission.command, point);
  if (what == Fingerprint(0)) return spec.vram_estimate;
  const auto peaks = store_.peaks_of(spec.user, what, kMostPeaks);
  const auto learned = peaks ? memory_from(*peaks) : std::nullopt;
  if (!learned) return spec.vram_estimate;
  return has_gpu_for(*learned, view_.cluster()) ? *learned : Bytes(0);
}

Expected<void> note_ended(JobSpec& spec, const ClusterView& view, const journal::Store& store) {
  for (std::size_t i = 0; i < spec.conditions->after.size(); ++i) {
    const JobId on = spec.conditions->after[i].job;
    if (spec.conditions->after[i].ended || view.knows(on)) continue;
    const auto rows = store.jobs_between(on, on);
    if (!rows) return std::unexpected(rows.error());
    // A damaged row says nothing; what is known of that job is that it is gone.
    if (!rows->empty()) spec.conditions.edit().after[i].ended = rows->front().ended;
  }
  return {};
}

std::vector<Estimated> Learning::late(std::uint64_t news) const {
  if (!rules_.learn_run_times || news == 0) return {};
  return late_estimates(view_, lessons(), view_.finished_after(view_.finished() - news),
                        [&](JobId job) { return view_.company().of(job); });
}

Expected<void> add_jobs(journal::Store& store, const Learning& learning, const Arrival& arrival,
                        std::vector<Input>& inputs) {
  const auto& [submission, first, now] = arrival;
  const auto command = command_in(store, submission);
  if (!command) return std::unexpected(command.error());
  const auto blob = store.add_blob(encode(*command));
  if (!blob) return std::unexpected(blob.error());
  const Fingerprint what = fingerprint_of(*command);
  JobSpec spec = learning.with_estimate(submission);
  spec.command = *blob;
  if (auto done = note_ended(spec, learning.view(), store); !done) return done;
  const std::string line = command_line(command->arguments);
  const std::size_t jobs = std::max<std::size_t>(1, submission.tasks.size());
  const std::size_t end = std::min(jobs, submission.arrived + tasks_in_step(submission));
  if (auto done = note_arrival(store, arrival, end); !done) return done;
  if (jobs > 1) inputs.reserve(inputs.size() + 2 * (end - submission.arrived));
  for (std::size_t i = submission.arrived; i < end; ++i) {
    const JobId id(first.value() + i);
    std::string name = submission.name;
    if (!submission.tasks.empty()) {
      // NOLINTNEXTLINE(bugprone-use-after-move): it is moved with the last
      ArrayPlace& place = spec.conditions.edit().array;
      place.first = first;
      place.task = submission.tasks[i];
      place.tasks = static_cast<std::int32_t>(jobs);
      name = name_in(submission, i);
      spec.vram_estimate = learning.memory_of(submission, i);
    }
    // One copy: the jobs that it waits for may be thousands.
    journal::JobRow row{.job = id, .spec = {}, .submitted = now, .name = name, .command = line};
    if (!submission.points.empty()) row.command = line_in(submission, i);
    row.spec = i + 1 < end ? spec : std::move(spec);
    if (!submission.only_for.empty()) leave_to_others(row.spec, submission, i);
    if (const auto added = store.add_job(row); !added) return added;
    if (submission.command.adopted) {
      inputs.emplace_back(Adopted{id, std::move(row.spec), submission.adopted});
    } else {
      inputs.emplace_back(Submitted{id, std::move(row.spec), submission.held});
    }
    if (what != Fingerprint(0)) inputs.emplace_back(Identified{id, what});
  }
  return {};
}

}  // namespace berth::live
