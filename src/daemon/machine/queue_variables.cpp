#include "daemon/machine/queue_variables.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::daemon {

namespace {

/// How a queue writes the number of a task's job.
enum class TaskForm : std::uint8_t {
  OfArray,   ///< `643`, of each task.
  WithTask,  ///< `643[7]`.
};

struct QueueWords {
  std::string_view folder;  ///< With which a submission says that it is for this queue.
  const char* job;
  TaskForm number;
  const char* task;
  std::string_view no_task;  ///< Of a job that is of no array; "": the variable is not set.
  const char* cores;
};
constexpr auto kQueues = std::to_array<QueueWords>({
    {"PBS_O_WORKDIR=", "PBS_JOBID", TaskForm::WithTask, "PBS_ARRAY_INDEX", "", "NCPUS"},
    {"LS_SUBCWD=", "LSB_JOBID", TaskForm::OfArray, "LSB_JOBINDEX", "0", "LSB_DJOB_NUMPROC"},
    {"SGE_O_WORKDIR=", "JOB_ID", TaskForm::OfArray, "SGE_TASK_ID", "undefined", "NSLOTS"},
});

}  // namespace

Variables variables_of_queues(const live::Assignment& assigned) {
  const JobSpec& spec = assigned.job.spec;
  const ArrayPlace& array = spec.conditions->array;
  const bool is_task = array.tasks > 0;
  const std::string task = std::to_string(array.task);
  const std::string own = std::to_string(assigned.job.id.value());
  const std::string number = is_task ? std::to_string(array.first.value()) : own;
  const std::int64_t cores = (spec.request.cpu.raw() + 999) / 1000;
  Variables facts;
  for (const QueueWords& words : kQueues) {
    const auto says_so = [&](const std::string& one) { return one.starts_with(words.folder); };
    if (std::ranges::none_of(assigned.environment, says_so)) continue;
    const bool with_task = is_task && words.number == TaskForm::WithTask;
    facts.emplace_back(words.job, with_task ? number + "[" + task + "]" : number);
    facts.emplace_back(words.cores, std::to_string(std::max<std::int64_t>(1, cores)));
    const std::string value = is_task ? task : std::string(words.no_task);
    if (!value.empty()) facts.emplace_back(words.task, value);
  }
  return facts;
}

}  // namespace berth::daemon
