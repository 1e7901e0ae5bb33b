#include "slurm/client.hpp"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <bit>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "core/text/file_pattern.hpp"
#include "slurm/texts.hpp"

/// slurm.h tells callers to free with it, and does not declare it.
extern "C" void slurm_xfree(void** value);

/// Slurm's word for a reason: libslurm has the first up to 23.02, and the second after that.
extern "C" {
[[gnu::weak]] char* slurm_job_reason_string(enum job_state_reason reason);
[[gnu::weak]] char* slurm_job_state_reason_string(enum job_state_reason reason);
}

namespace berth::slurm {

namespace {

std::string text(const char* value) { return value == nullptr ? "" : value; }

/// libslurm only reads what it is given, but does not say so.
char* mutable_text(const std::string& value) { return const_cast<char*>(value.c_str()); }

/// True where the controller did not answer: it may have done what was asked.
bool is_unanswered(int error) {
  constexpr int kCommunications = 1000;
  constexpr int kLastCommunications = 1999;
  constexpr int kSockets = 5000;
  constexpr int kLastSockets = 5099;
  return (error >= kCommunications && error <= kLastCommunications) ||
         (error >= kSockets && error <= kLastSockets) || error == ESLURM_IN_STANDBY_MODE ||
         error == ETIMEDOUT || error == ECONNREFUSED || error == ECONNRESET;
}

std::unexpected<Error> slurm_error() {
  const int error = slurm_get_errno();
  const std::string words = text(slurm_strerror(error));
  return fail(is_unanswered(error) ? ErrorCode::Io : ErrorCode::Conflict, "Slurm: " + words);
}

Expected<SlurmId> checked(int returned) {
  if (returned != SLURM_SUCCESS) return slurm_error();
  return SlurmId(0);
}

std::vector<std::string> split_nodes(const char* list) {
  std::vector<std::string> names;
  if (list == nullptr) return names;
  const hostlist_t hosts = slurm_hostlist_create(list);
  while (char* const name = slurm_hostlist_shift(hosts)) {
    names.emplace_back(name);
    std::free(name);  // NOLINT(cppcoreguidelines-no-malloc): it came from malloc
  }
  slurm_hostlist_destroy(hosts);
  return names;
}

/// Slurm gives the reason of a user's hold to a job that was ended and held, whoever asked for
/// that; as a rule it was berth.
bool was_requeued(const slurm_job_info_t& job) {
  return job.state_desc != nullptr &&
         std::string_view(job.state_desc) == "job requeued in held state";  // as slurmctld has it
}

/// As squeue prints it; "" where libslurm does not tell.
std::string reason_word(const slurm_job_info_t& job) {
  const auto reason = static_cast<enum job_state_reason>(job.state_reason);
  if (slurm_job_reason_string != nullptr) return text(slurm_job_reason_string(reason));
  if (slurm_job_state_reason_string != nullptr) return text(slurm_job_state_reason_string(reason));
  return "";
}

std::string reason_text(const slurm_job_info_t& job) {
  if (job.state_desc != nullptr) return job.state_desc;
  switch (job.state_reason) {
    case WAIT_NO_REASON:
      return "";
    case WAIT_PRIORITY:
      return "other jobs go first in Slurm's queue";
    case WAIT_DEPENDENCY:
      return "a dependency is not met";
    case WAIT_RESOURCES:
      return "cores, memory or shards are not free on the node";
    case WAIT_TIME:
      return "its begin time has not come";
    case WAIT_LICENSES:
      return "a licence is not free";
    case WAIT_RESERVATION:
      return "its reservation is not active, or does not have the node";
    case WAIT_NODE_NOT_AVAIL:
      return "the node is down, drained or reserved";
    case WAIT_PART_NODE_LIMIT:
    case WAIT_PART_TIME_LIMIT:
      return "a limit of the partition";
    case WAIT_PART_DOWN:
    case WAIT_PART_INACTIVE:
      return "the partition is down";
    case WAIT_HELD:
    case WAIT_HELD_USER:
      return "it is held";
    case WAIT_PROLOG:
      return "a prolog runs";
    default:
      return "a rule of Slurm's, number " + std::to_string(job.state_reason);
  }
}

/// `%j` and the like in a path, as slurmd fills them in on the job's first node.
std::string filled_in(const std::string& path, const slurm_job_info_t& job) {
  const bool is_task = job.array_job_id != 0 && job.array_task_id != NO_VAL;
  const auto meaning_of = [&](char letter, std::string_view width) -> std::optional<std::string> {
    switch (letter) {
      case 'j':
      case 'J':
        return zero_padded(job.job_id, width);
      case 'A':
        return zero_padded(is_task ? job.array_job_id : job.job_id, width);
      case 'a':
        return zero_padded(is_task ? job.array_task_id : kNoTask, width);
      case 'n':
      case 't':
        return zero_padded(0, width);
      case 's':
        return "batch";
      case 'x':
        return text(job.name);
      case 'u':
        return text(job.user_name);
      case 'N':
        return text(job.batch_host);
      case '%':
        return "%";
      default:
        return std::nullopt;
    }
  };
  return fill_pattern(path, meaning_of);
}

void set_end(JobRecord& record, const slurm_job_info_t& job) {
  record.phase = Phase::Over;
  record.ended = job.end_time;
  const int status = static_cast<int>(job.exit_code);
  record.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  switch (job.job_state & JOB_STATE_BASE) {
    case JOB_COMPLETE:
      record.outcome = Outcome::Done;
      return;
    case JOB_CANCELLED:
      record.outcome = Outcome::Cancelled;
      return;
    case JOB_TIMEOUT:
    case JOB_DEADLINE:
      record.outcome = Outcome::Timeout;
      return;
    case JOB_NODE_FAIL:
    case JOB_BOOT_FAIL:
      record.outcome = Outcome::Lost;
      record.why_over = "its node failed";
      return;
    case JOB_OOM:
      record.outcome = Outcome::Failed;
      record.why_over = "it ran out of host memory, by Slurm's limit";
      return;
    default:
      record.outcome = Outcome::Failed;
      if (job.state_desc != nullptr) record.why_over = job.state_desc;
  }
}

Bytes memory_of(const slurm_job_info_t& job) {
  constexpr std::int64_t kMebi = std::int64_t{1} << 20;
  const auto amount = static_cast<std::int64_t>(job.pn_min_memory & ~MEM_PER_CPU);
  const bool is_per_cpu = (job.pn_min_memory & MEM_PER_CPU) != 0;
  const std::int64_t nodes = std::max<std::uint32_t>(1, job.num_nodes);
  const std::int64_t cpus = (job.num_cpus + nodes - 1) / nodes;
  return Bytes(amount * kMebi * (is_per_cpu ? cpus : 1));
}

std::string task_name(const slurm_job_info_t& job) {
  if (job.array_job_id == 0 || job.array_task_id == NO_VAL) return "";
  return std::to_string(job.array_job_id) + "_" + std::to_string(job.array_task_id);
}

JobRecord record_of(slurm_job_info_t& job) {
  JobRecord record;
  record.id = job.job_id;
  record.array = job.array_job_id;
  const bool is_task = job.array_job_id != 0 && job.array_task_id != NO_VAL;
  if (is_task) record.task = job.array_task_id;
  if (job.array_job_id != 0 && !is_task) record.tasks = text(job.array_task_str);
  record.at_once = job.array_max_tasks;
  record.user = job.user_id;
  record.group = job.group_id;
  record.name = text(job.name);
  record.partition = text(job.partition);
  record.command = text(job.command);
  record.directory = text(job.work_dir);
  record.admin_comment = text(job.admin_comment);
  record.dependency = text(job.dependency);
  record.gres = text(job.tres_per_node);
  record.restarts = job.restart_cnt;
  record.cpus = job.num_cpus;
  record.memory = memory_of(job);
  if (job.time_limit != INFINITE && job.time_limit != NO_VAL) {
    record.time_limit = minutes(job.time_limit);
  }
  std::array<char, 4096> path{};
  slurm_get_job_stdout(path.data(), path.size(), &job);
  record.output = filled_in(path.data(), job);
  record.is_completing = (job.job_state & JOB_COMPLETING) != 0;
  const bool is_pending = (job.job_state & JOB_STATE_BASE) == JOB_PENDING;
  if (!is_pending) record.started = job.start_time;
  switch (job.job_state & JOB_STATE_BASE) {
    case JOB_PENDING:
      record.phase = Phase::Pending;
      record.is_held = job.priority == 0;
      record.is_requeued_held = record.is_held && was_requeued(job);
      record.is_held_by_user =
          record.is_held && job.state_reason == WAIT_HELD_USER && !record.is_requeued_held;
      record.reason = reason_text(job);
      record.word = reason_word(job);
      record.nodes = split_nodes(job.nodes);
      if (record.is_held) record.begin = job.start_time;  // where it has none, its begin time
      return record;
    case JOB_RUNNING:
      record.phase = Phase::Running;
      break;
    case JOB_SUSPENDED:
      record.phase = Phase::Suspended;
      break;
    default:
      set_end(record, job);
      return record;
  }
  record.nodes = split_nodes(job.nodes);
  for (std::uint32_t i = 0; i < job.gres_detail_cnt; ++i) {
    record.gres_there.push_back(text(job.gres_detail_str[i]));
  }
  return record;
}

/// Mixes what it is given into 64 bits.
class Print {
 public:
  void add(std::uint64_t value) { sum_ = (std::rotl(sum_, 23) ^ value) * 0x9e3779b97f4a7c15U; }
  void add(const char* text) {
    add(text == nullptr ? std::uint64_t{0} : std::hash<std::string_view>()(text));
  }
  std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 1;
};

/// Differs where record_of() would give something else: of all that it reads.
std::uint64_t print_of(const slurm_job_info_t& job) {
  Print print;
  for (const char* const word :
       {job.name, job.partition, job.command, job.work_dir, job.admin_comment, job.dependency,
        job.tres_per_node, job.array_task_str, job.std_out, job.user_name, job.state_desc,
        job.nodes, job.batch_host}) {
    print.add(word);
  }
  for (const std::uint64_t value : std::initializer_list<std::uint64_t>{
           job.array_job_id, job.array_task_id, job.array_max_tasks, job.user_id, job.group_id,
           job.restart_cnt, job.num_cpus, job.num_nodes, job.pn_min_memory, job.time_limit,
           job.job_state, job.state_reason, job.exit_code, job.gres_detail_cnt, job.batch_flag}) {
    print.add(value);
  }
  for (std::uint32_t i = 0; i < job.gres_detail_cnt; ++i) print.add(job.gres_detail_str[i]);
  const std::uint32_t state = job.job_state & JOB_STATE_BASE;
  const bool is_held = job.priority == 0;
  print.add(is_held ? 1 : 0);
  // Slurm moves the start that it expects of a job that is not held all the time.
  if (state == JOB_PENDING && is_held) print.add(static_cast<std::uint64_t>(job.start_time));
  if (state > JOB_SUSPENDED) print.add(static_cast<std::uint64_t>(job.end_time));
  return print.value();
}

std::string node_state_text(std::uint32_t state) {
  const std::uint32_t base = state & NODE_STATE_BASE;
  if (base == NODE_STATE_DOWN) return "down";
  if ((state & NODE_STATE_DRAIN) != 0) return "drained";
  if ((state & NODE_STATE_FAIL) != 0) return "failing";
  if ((state & NODE_STATE_NO_RESPOND) != 0) return "not responding";
  if ((state & NODE_STATE_MAINT) != 0) return "in maintenance";
  if ((state & NODE_STATE_POWERED_DOWN) != 0) return "powered down";
  return "in Slurm's state " + std::to_string(base);
}

NodeRecord record_of(const node_info_t& node) {
  NodeRecord record;
  record.name = text(node.name);
  record.gres = text(node.gres);
  record.extra = text(node.extra);
  record.cpus = node.cpus;
  record.memory = Bytes(static_cast<std::int64_t>(node.real_memory) << 20);
  const std::uint32_t base = node.node_state & NODE_STATE_BASE;
  record.has_reported = base == NODE_STATE_DOWN || node.slurmd_start_time != 0;
  constexpr std::uint32_t kNot = NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND |
                                 NODE_STATE_MAINT | NODE_STATE_POWERED_DOWN;
  const bool is_up =
      base == NODE_STATE_IDLE || base == NODE_STATE_ALLOCATED || base == NODE_STATE_MIXED;
  record.takes_jobs = is_up && (node.node_state & kNot) == 0;
  if (!record.takes_jobs) {
    record.state = node_state_text(node.node_state);
    if (node.reason != nullptr) record.state += ": " + text(node.reason);
  }
  return record;
}

job_desc_msg_t description() {
  job_desc_msg_t message;
  slurm_init_job_desc_msg(&message);
  return message;
}

/// What each of the jobs answers.
Expected<SlurmId> checked(int returned, job_array_resp_msg_t* answers) {
  Expected<SlurmId> done = checked(returned);
  if (answers == nullptr) return done;
  for (std::uint32_t i = 0; done && i < answers->job_array_count; ++i) {
    const auto error = static_cast<int>(answers->error_code[i]);
    if (error == SLURM_SUCCESS) continue;
    done = fail(is_unanswered(error) ? ErrorCode::Io : ErrorCode::Conflict,
                "Slurm: " + text(slurm_strerror(error)));
  }
  slurm_free_job_array_resp(answers);
  return done;
}

/// libslurm has a buffer of its own for a number's text, so numbers go as text as tasks do.
Expected<SlurmId> update(job_desc_msg_t& message, const std::string& id) {
  message.job_id_str = mutable_text(id);
  job_array_resp_msg_t* answers = nullptr;
  const int returned = slurm_update_job2(&message, &answers);
  return checked(returned, answers);
}

/// Nothing is changed for "".
Expected<SlurmId> comment_on(const std::string& id, const std::string& admin_comment) {
  if (admin_comment.empty()) return SlurmId(0);
  job_desc_msg_t message = description();
  message.admin_comment = mutable_text(admin_comment);
  return update(message, id);
}

struct Performer {
  const Client& client;

  Expected<SlurmId> operator()(const Take& take) const {
    job_desc_msg_t message = description();
    message.priority = 0;
    message.admin_comment = mutable_text(take.admin_comment);
    const auto number = number_of<SlurmId>(take.id);
    return update(message, number ? client.name_of(*number) : take.id);
  }

  Expected<SlurmId> operator()(const Dispatch& dispatch) const {
    job_desc_msg_t message = description();
    message.req_nodes = mutable_text(dispatch.nodes);
    message.min_nodes = message.max_nodes = dispatch.node_count;
    if (!dispatch.gres.empty()) message.tres_per_node = mutable_text(dispatch.gres);
    message.admin_comment = mutable_text(dispatch.admin_comment);
    // A requeue may have set it to later. A node takes no start of the second in which it was told
    // to end the run before.
    constexpr std::time_t kAfterRevocation = 2;
    message.begin_time = std::time(nullptr) + (dispatch.ran_before ? kAfterRevocation : 0);
    message.priority = INFINITE;
    return update(message, client.name_of(dispatch.id));
  }

  Expected<SlurmId> operator()(const Nudge& nudge) const {
    job_desc_msg_t message = description();
    return update(message, client.name_of(nudge.id));
  }

  Expected<SlurmId> operator()(const Hold& hold) const {
    job_desc_msg_t message = description();
    message.priority = 0;
    return update(message, client.name_of(hold.id));
  }

  Expected<SlurmId> operator()(const Requeue& requeue) const {
    const std::string name = client.name_of(requeue.id);
    if (auto done = comment_on(name, requeue.admin_comment); !done) return done;
    job_array_resp_msg_t* answers = nullptr;
    const int returned = slurm_requeue2(mutable_text(name), JOB_REQUEUE_HOLD, &answers);
    return checked(returned, answers);
  }

  Expected<SlurmId> operator()(const Cancel& cancel) const {
    const std::string name = client.name_of(cancel.id);
    if (auto done = comment_on(name, cancel.admin_comment); !done) return done;
    return checked(slurm_kill_job2(name.c_str(), SIGKILL, 0, nullptr));
  }

  Expected<SlurmId> operator()(const Submit& submit) const {
    job_desc_msg_t message = description();
    std::vector<char*> environment;
    for (const std::string& variable : submit.environment) {
      environment.push_back(mutable_text(variable));
    }
    environment.push_back(nullptr);
    message.environment = environment.data();
    message.env_size = static_cast<std::uint32_t>(submit.environment.size());
    message.name = mutable_text(submit.name);
    message.partition = mutable_text(submit.partition);
    message.script = mutable_text(submit.script);
    message.work_dir = mutable_text(submit.directory);
    if (!submit.output.empty()) message.std_out = mutable_text(submit.output);
    std::string nothing = "/dev/null";
    message.std_in = nothing.data();
    message.admin_comment = mutable_text(submit.admin_comment);
    message.user_id = submit.user;
    message.group_id = submit.group;
    message.priority = 0;
    message.min_nodes = message.max_nodes = 1;
    message.num_tasks = 1;
    message.min_cpus = submit.cpus;
    message.cpus_per_task = static_cast<std::uint16_t>(submit.cpus);
    if (submit.memory > Bytes(0)) {
      message.pn_min_memory =
          static_cast<std::uint64_t>((submit.memory.raw() + (1 << 20) - 1) >> 20);
    }
    if (submit.time_limit != kForever) {
      constexpr std::int64_t kMinute = 60'000'000;
      message.time_limit =
          static_cast<std::uint32_t>((micros(submit.time_limit) + kMinute - 1) / kMinute);
    }
    if (submit.begin > 0) message.begin_time = submit.begin;
    submit_response_msg_t* answer = nullptr;
    if (slurm_submit_batch_job(&message, &answer) != SLURM_SUCCESS) return slurm_error();
    const SlurmId id = answer->job_id;
    slurm_free_submit_response_response_msg(answer);
    return id;
  }
};

void free_text(char*& text) { slurm_xfree(reinterpret_cast<void**>(&text)); }

/// libslurm 22.05 leaves out the admin_comments. They were lost with each look, and what was free
/// between them made it slower each time.
void free_answer(job_info_msg_t* answer) {
  for (std::uint32_t i = 0; i < answer->record_count; ++i) {
    free_text(answer->job_array[i].admin_comment);
  }
  slurm_free_job_info_msg(answer);
}

/// And these two texts of nodes.
void free_answer(node_info_msg_t* answer) {
  for (std::uint32_t i = 0; i < answer->record_count; ++i) {
    free_text(answer->node_array[i].comment);
    free_text(answer->node_array[i].extra);
  }
  slurm_free_node_info_msg(answer);
}

}  // namespace

void Client::open(const std::string& configuration) {
  ::setenv("SLURM_BITSTR_LEN", "0", 1);  // arrays' tasks are told in full
  slurm_init(configuration.empty() ? nullptr : configuration.c_str());
}

Expected<JobNews> Client::jobs() {
  job_info_msg_t* answer = nullptr;
  // Without SHOW_LOCAL libslurm asks each time whether there is a federation.
  constexpr std::uint16_t kShow = SHOW_DETAIL | SHOW_ALL | SHOW_LOCAL;
  if (slurm_load_jobs(jobs_at_, &answer, kShow) != SLURM_SUCCESS) {
    if (slurm_get_errno() == SLURM_NO_CHANGE_IN_DATA) return JobNews();
    return slurm_error();
  }
  JobNews news;
  news.looked_at = answer->record_count;
  std::vector<Told> told;
  told.reserve(answer->record_count);
  auto before = told_.begin();
  std::size_t known = 0;
  for (std::uint32_t i = 0; i < answer->record_count; ++i) {
    slurm_job_info_t& job = answer->job_array[i];
    told.push_back({.id = job.job_id, .print = print_of(job), .task = task_name(job)});
    // Slurm tells its jobs in the same order each time, which is that of their numbers as a rule.
    if (before == told_.end() || before->id != job.job_id) {
      before = std::ranges::lower_bound(told_, job.job_id, {}, &Told::id);
    }
    const bool is_known = before != told_.end() && before->id == job.job_id;
    if (!is_known || before->print != told.back().print) news.jobs.push_back(record_of(job));
    if (is_known) ++before, ++known;
  }
  std::ranges::sort(told, {}, &Told::id);
  if (known < told_.size()) {
    for (const Told& each : told_) {
      if (!std::ranges::binary_search(told, each.id, {}, &Told::id)) news.gone.push_back(each.id);
    }
  }
  told_ = std::move(told);
  // Times are of seconds: what changes later in this one must be told next time.
  jobs_at_ = answer->last_update - 1;
  free_answer(answer);
  return news;
}

Expected<std::optional<std::vector<NodeRecord>>> Client::nodes() {
  node_info_msg_t* answer = nullptr;
  if (slurm_load_node(nodes_at_, &answer, SHOW_ALL) != SLURM_SUCCESS) {
    if (slurm_get_errno() == SLURM_NO_CHANGE_IN_DATA) return std::nullopt;
    return slurm_error();
  }
  std::vector<NodeRecord> records;
  for (std::uint32_t i = 0; i < answer->record_count; ++i) {
    if (answer->node_array[i].name != nullptr) records.push_back(record_of(answer->node_array[i]));
  }
  nodes_at_ = answer->last_update - 1;
  free_answer(answer);
  return records;
}

std::string Client::name_of(SlurmId id) const {
  const auto found = std::ranges::lower_bound(told_, id, {}, &Told::id);
  const bool is_task = found != told_.end() && found->id == id && !found->task.empty();
  return is_task ? found->task : std::to_string(id);
}

Expected<SlurmId> Client::perform(const Order& order) {
  return std::visit(Performer{.client = *this}, order);
}

Expected<std::string> Client::version() {
  slurm_conf_t* answer = nullptr;
  if (slurm_load_ctl_conf(0, &answer) != SLURM_SUCCESS) return slurm_error();
  std::string version = text(answer->version);
  slurm_free_ctl_conf(answer);
  return version;
}

}  // namespace berth::slurm
