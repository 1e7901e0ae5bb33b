#include "daemon/job_fields.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/amounts.hpp"
#include "core/array_text.hpp"
#include "core/limits.hpp"
#include "core/saving_text.hpp"
#include "daemon/requests.hpp"
#include "gpu/probe.hpp"

namespace berth::daemon {

namespace {

constexpr std::string_view kGpuFailure = "gpu-failure";

/// Charges and measurements go in the same steps (see machine.cpp).
Bytes round_up(std::int64_t bytes) {
  const std::int64_t step = kProbeStep.raw();
  return Bytes((bytes + step - 1) / step * step);
}

/// The folder is removed with the job by a process of its user, so a slip must not name another.
Expected<void> read_snapshot(Json& value, std::string& target) {
  if (auto done = read_value("snapshot", value, target); !done) return done;
  constexpr std::string_view kParent = "/berth/snapshots/";
  const std::size_t at = target.rfind(kParent);
  const std::string_view name =
      at == std::string::npos ? "" : std::string_view(target).substr(at + kParent.size());
  const bool is_one = target.starts_with('/') && !name.empty() && name != "." && name != ".." &&
                      name.find('/') == name.npos && target.find("/../") == std::string::npos &&
                      target.size() <= limits::kMostPath;
  if (is_one) return {};
  return wrong("snapshot", "'" + target.substr(0, 60) +
                               "' is not the absolute path of a folder in berth/snapshots");
}

/// `{job, when}`, with `task` for one job of an array.
Expected<live::AfterTask> read_dependency(const std::string& key, const Json& value) {
  if (!value.is_object()) return wrong(key, "must be an object, is " + shown_json(value));
  live::AfterTask after;
  for (const auto& [name, part] : value.items()) {
    const std::string full = key + "." + name;
    if (name == "when") {
      if (auto done = read_word(full, part, after.on.when); !done) {
        return std::unexpected(done.error());
      }
      continue;
    }
    if (name != "job" && name != "task") {
      return wrong(full, "unknown key; valid keys: job, when, task");
    }
    const bool is_job = name == "job";
    const auto number = is_job
                            ? integer_in(full, part, 1, static_cast<std::int64_t>(kLastJob.value()))
                            : integer_in(full, part, 0, limits::kMostTask);
    if (!number) return std::unexpected(number.error());
    if (is_job) after.on.job = JobId(static_cast<std::uint64_t>(*number));
    if (!is_job) after.task = *number;
  }
  if (after.on.job == JobId(0)) return wrong(key + ".job", "is missing");
  return after;
}

Expected<void> read_after(Json& value, std::vector<live::AfterTask>& target) {
  if (!value.is_array()) return wrong("after", "must be a list, is " + shown_json(value));
  if (auto done = check_most("after", value.size(), " jobs", limits::kMostDependencies); !done) {
    return done;
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto after = read_dependency("after[" + std::to_string(i) + "]", value[i]);
    if (!after) return std::unexpected(after.error());
    target.push_back(*after);
  }
  return {};
}

Expected<void> read_codes(const Json& value, Conditions& target) {
  if (!value.is_array() || value.empty() || value.size() > limits::kMostCodes) {
    return wrong("requeue_on", "must be a list of 1 to " + std::to_string(limits::kMostCodes) +
                                   " exit codes or \"gpu-failure\", is " + shown_json(value));
  }
  for (const Json& code : value) {
    if (code.is_string() && code.get_ref<const std::string&>() == kGpuFailure) {
      target.requeue_on_gpu_failure = true;
      continue;
    }
    const auto number = integer_in("requeue_on", code, 1, 255);
    if (!number) return std::unexpected(number.error());
    target.requeue_on.push_back(static_cast<std::int32_t>(*number));
  }
  std::ranges::sort(target.requeue_on);
  target.requeues = limits::kMostRequeues;
  return {};
}

/// `{signal, grace_seconds}`.
Expected<void> read_saving(const Json& value, Saving& target) {
  if (!value.is_object()) return wrong("on_preempt", "must be an object, is " + shown_json(value));
  target.grace = kUsualSaveGrace;
  for (const auto& [key, part] : value.items()) {
    const std::string full = "on_preempt." + key;
    if (key == "signal") {
      if (!part.is_string()) return wrong(full, "must be a string, is " + shown_json(part));
      const auto signal = parse_signal(part.get_ref<const std::string&>());
      if (!signal) return wrong(full, signal.error().message);
      target.signal = *signal;
    } else if (key == "grace_seconds") {
      const auto grace =
          real_in(full, part, static_cast<double>(micros(limits::kLongestGrace)) / 1e6);
      if (!grace) return std::unexpected(grace.error());
      target.grace = Duration(std::llround(*grace * 1e6));
    } else {
      return wrong(full, "unknown key; valid keys: signal, grace_seconds");
    }
  }
  if (target.signal == 0) return wrong("on_preempt.signal", "is missing");
  return {};
}

/// A size or a duration may be a text as on the command line. Returns: the number.
Expected<Json> plain_amount(const std::string& key, const Json& value) {
  if (!value.is_string()) return value;
  const auto& text = value.get_ref<const std::string&>();
  const auto unreadable = [&](const Error& error) {
    return wrong(key, "'" + text.substr(0, 60) + "' " + error.message);
  };
  if (key.ends_with("_bytes")) {
    const auto size = parse_size(text);
    return size ? Expected<Json>(size->raw()) : unreadable(size.error());
  }
  if (key.ends_with("_seconds")) {
    const auto time = parse_duration(text);
    return time ? Expected<Json>(static_cast<double>(micros(*time)) / 1e6)
                : unreadable(time.error());
  }
  return value;
}

/// `USR1`, `SIGUSR1`, `10`; nothing for what no program can handle.
std::optional<std::int32_t> signal_number(std::string_view text) {
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (int number = 1; number < SIGRTMIN; ++number) {
    const char* const name = ::sigabbrev_np(number);
    const bool is_it = name != nullptr && (text == name || text == std::to_string(number));
    if (is_it && number != SIGKILL && number != SIGSTOP) return number;
  }
  return std::nullopt;
}

/// In what a number is counted.
enum class Measure : std::uint8_t {
  Whole,    ///< As it is.
  Cores,    ///< In thousandths, rounded up.
  Span,     ///< In microseconds; stated in seconds.
  Instant,  ///< The same, since 1970.
};

/// A key with a number, and the ends of its range, as it is counted.
struct NumberKey {
  std::string_view name;
  Measure measure;
  std::int64_t least;
  std::int64_t most;
  void (*set)(JobFields&, std::int64_t);
};

/// The number as it is counted; refused beyond the ends of its range.
Expected<std::int64_t> raw_number(const NumberKey& key, const Json& value) {
  const std::string name(key.name);
  if (key.measure == Measure::Whole) return integer_in(name, value, key.least, key.most);
  if (key.measure == Measure::Instant) {
    Instant at;
    const auto done = read_value(name, value, at);
    return done ? Expected<std::int64_t>(micros(at)) : std::unexpected(done.error());
  }
  const double one = key.measure == Measure::Cores ? 1e3 : 1e6;
  const auto stated = real_in(name, value, static_cast<double>(key.most) / one);
  if (!stated) return std::unexpected(stated.error());
  const double counted = *stated * one;
  const double whole = key.measure == Measure::Cores ? std::ceil(counted) : counted;
  return std::max(key.least, static_cast<std::int64_t>(std::llround(whole)));
}

Expected<void> read_signal(const Json& value, JobFields& fields) {
  constexpr std::string_view kKey = "warning_signal";
  const auto signal =
      value.is_string() ? signal_number(value.get_ref<const std::string&>()) : std::nullopt;
  if (!signal) {
    return wrong(std::string(kKey),
                 shown_json(value) + ", must be a signal that a program can take, as USR1 or INT");
  }
  fields.warn_signal = *signal;
  return {};
}

Expected<void> read_occasions(const Json& value, JobFields& fields) {
  const auto on = value.is_string() ? live::parse_occasions(value.get_ref<const std::string&>())
                                    : fail(ErrorCode::InvalidArgument, "must be a string");
  if (!on) return wrong("notify_on", on.error().message);
  fields.notice.on = *on;
  return {};
}

Expected<void> read_program_words(Json& value, JobFields& fields) {
  std::vector<std::string>& words = fields.program.words;
  if (auto done = read_value("program_words", value, words); !done) return done;
  std::size_t size = 0;
  for (const std::string& word : words) size += word.size() + 1;
  if (size <= limits::kMostProgramWords) return {};
  return wrong("program_words", std::to_string(size) + " bytes, the most is " +
                                    std::to_string(limits::kMostProgramWords));
}

Expected<void> read_array(const Json& value, JobFields& fields) {
  if (!value.is_string()) return wrong("array", "must be a string, is " + shown_json(value));
  const auto& text = value.get_ref<const std::string&>();
  auto array = parse_array(text);
  if (!array) return wrong("array", "'" + text.substr(0, 60) + "' " + array.error().message);
  fields.job.tasks = std::move(array->tasks);
  fields.conditions.array.at_once = array->at_once;
  return {};
}

Expected<void> read_number(const NumberKey& key, const Json& given, JobFields& fields) {
  const std::string name(key.name);
  const auto plain = plain_amount(name, given);
  if (!plain) return std::unexpected(plain.error());
  const auto raw = raw_number(key, *plain);
  if (!raw) return std::unexpected(raw.error());
  key.set(fields, *raw);
  return {};
}

Expected<void> read_indices(const Json& value, JobFields& fields) {
  if (!value.is_array() || value.empty() || value.size() > kMostInSet) {
    return wrong("gpu_indices", "must be a list of 1 to " + std::to_string(kMostInSet) +
                                    " indices, as GET /v1/gpus has them");
  }
  for (const Json& one : value) {
    const auto index = integer_in("gpu_indices", one, 0, limits::kMostGpus);
    if (!index) return std::unexpected(index.error());
    if (std::ranges::count(fields.job.gpu_indices, *index) > 0) {
      return wrong("gpu_indices", "GPU " + std::to_string(*index) + " is there twice");
    }
    fields.job.gpu_indices.push_back(*index);
  }
  return {};
}

Expected<void> read_share(Json& value, JobFields& fields) {
  if (auto done = read_value("share", value, fields.job.share); !done) return done;
  const std::string& share = fields.job.share;
  const bool is_known = share == "exclusive" || share == "timeslice" || share == "mps" ||
                        (share.starts_with("mig:") && share.size() > 4);
  if (!is_known) {
    return wrong("share", "'" + share.substr(0, 60) +
                              "', must be exclusive, timeslice, mps or mig:PROFILE as mig:3g.40gb");
  }
  if (share == "exclusive") fields.job.spec.request.gpu.sharing = Sharing::Alone;
  return {};
}

GpuRequest& gpu_of(JobFields& fields) { return fields.job.spec.request.gpu; }

constexpr std::int64_t kLongest = micros(limits::kLongestTime);
constexpr std::int64_t kLatest = micros(limits::kLastInstant);

/// Every key with a number. The ends are the table of limits' own, which the command line reads
/// too; a test drives each through a snapshot.
constexpr auto kNumbers = std::to_array<NumberKey>({
    {"gpus", Measure::Whole, 0, limits::kMostGpus,
     [](JobFields& r, std::int64_t n) { gpu_of(r).count = GpuCount(n); }},
    {"min_gpus", Measure::Whole, 1, limits::kMostGpus,
     [](JobFields& r, std::int64_t n) { gpu_of(r).min = GpuCount(n); }},
    {"max_gpus", Measure::Whole, 1, limits::kMostGpus,
     [](JobFields& r, std::int64_t n) { gpu_of(r).max = GpuCount(n); }},
    {"vram_bytes", Measure::Whole, kLeastPlain.raw(), limits::kMostMemory.raw(),
     [](JobFields& r, std::int64_t n) { gpu_of(r).vram = round_up(n); }},
    {"gpu_milli", Measure::Whole, 1, kWholeGpu.raw(),
     [](JobFields& r, std::int64_t n) { gpu_of(r).milli = GpuMilli(n); }},
    {"gpu_processes", Measure::Whole, 1, limits::kMostGpuProcesses,
     [](JobFields& r, std::int64_t n) { gpu_of(r).processes = static_cast<std::int32_t>(n); }},
    {"cpus", Measure::Cores, 1, limits::kMostCores.raw(),
     [](JobFields& r, std::int64_t n) { r.job.spec.request.cpu = CpuMilli(n); }},
    {"mem_bytes", Measure::Whole, kLeastPlain.raw(), limits::kMostMemory.raw(),
     [](JobFields& r, std::int64_t n) { r.job.spec.request.host = Bytes(n); }},
    {"pids", Measure::Whole, 1, limits::kMostProcesses,
     [](JobFields& r, std::int64_t n) { r.job.command.processes = n; }},
    {"umask", Measure::Whole, 0, 0777,
     [](JobFields& r, std::int64_t n) { r.job.command.umask = static_cast<mode_t>(n); }},
    {"priority", Measure::Whole, 0, limits::kMostPriority,
     [](JobFields& r, std::int64_t n) { r.job.spec.priority = static_cast<std::int32_t>(n); }},
    {"retries", Measure::Whole, 0, limits::kMostRetries,
     [](JobFields& r, std::int64_t n) { r.job.spec.retries = static_cast<std::int32_t>(n); }},
    {"batch", Measure::Whole, 1, limits::kMostBatch,
     [](JobFields& r, std::int64_t n) { r.job.spec.batch = n; }},
    {"time_limit_seconds", Measure::Span, 1, kLongest,
     [](JobFields& r, std::int64_t n) { r.job.spec.time_limit = Duration(n); }},
    {"estimate_seconds", Measure::Span, 1, kLongest,
     [](JobFields& r, std::int64_t n) { r.job.spec.estimate = Duration(n); }},
    {"warning_seconds", Measure::Span, 1, kLongest,
     [](JobFields& r, std::int64_t n) { r.warn_before = Duration(n); }},
    {"deadline_at", Measure::Instant, 1, kLatest,
     [](JobFields& r, std::int64_t n) { r.job.spec.deadline = instant_from_micros(n); }},
    {"begin_at", Measure::Instant, 1, kLatest,
     [](JobFields& r, std::int64_t n) { r.conditions.begin = instant_from_micros(n); }},
});

}  // namespace

Expected<void> read_field(JobFields& fields, const std::string& key, Json& value) {
  live::Submission& job = fields.job;
  if (key == "command") return read_value(key, value, job.command.arguments);
  if (key == "environment") return read_value(key, value, fields.environment);
  if (key == "program_words") return read_program_words(value, fields);
  if (key == "directory") return read_value(key, value, job.command.directory);
  if (key == "name") return read_value(key, value, job.name);
  if (key == "held") return read_value(key, value, job.held);
  if (key == "class") return read_word(key, value, job.spec.duration_class);
  if (key == "job_group") return read_value(key, value, job.spec.group);
  if (key == "model") return read_value(key, value, job.spec.model);
  if (key == "gpu_types") return read_value(key, value, job.gpu_types);
  if (key == "gpu_indices") return read_indices(value, fields);
  if (key == "share") return read_share(value, fields);
  if (key == "vram_shrink") {
    bool allowed = false;
    auto done = read_value(key, value, allowed);
    job.vram_shrink = allowed;
    return done;
  }
  if (key == "attach") return read_attach(value, job.command.attach);
  if (key == "output") return read_value(key, value, job.command.output);
  if (key == "snapshot") return read_snapshot(value, job.command.snapshot);
  if (key == "after") return read_after(value, job.after);
  if (key == "requeue_on") return read_codes(value, fields.conditions);
  if (key == "on_preempt") return read_saving(value, fields.conditions.on_preempt);
  if (key == "unique") return read_value(key, value, fields.conditions.unique);
  if (key == "array") return read_array(value, fields);
  if (key == "warning_signal") return read_signal(value, fields);
  if (key == "notify") return read_value(key, value, fields.notice.to);
  if (key == "notify_on") return read_occasions(value, fields);
  if (key == "exclusive") {
    bool exclusive = false;
    auto done = read_value(key, value, exclusive);
    if (exclusive) job.spec.request.gpu.sharing = Sharing::Alone;
    return done;
  }
  const auto* const number_key = std::ranges::find(kNumbers, key, &NumberKey::name);
  if (number_key != kNumbers.end()) return read_number(*number_key, value, fields);
  return wrong(key, "unknown key; doc/openapi.yaml names all");
}

Expected<void> read_attach(Json& value, std::optional<shim::Attach>& target) {
  if (!value.is_object()) return wrong("attach", "must be an object, is " + shown_json(value));
  shim::Attach attach;
  for (auto& [name, part] : value.items()) {
    const std::string key = "attach." + name;
    Expected<void> done;
    if (name == "socket") {
      done = read_value(key, part, attach.socket);
    } else if (name == "terminal") {
      done = read_value(key, part, attach.terminal);
    } else if (name == "optional") {
      done = read_value(key, part, attach.optional);
    } else if (name == "rows" || name == "columns") {
      const auto number = integer_in(key, part, 0, 65535);
      if (!number) return std::unexpected(number.error());
      (name == "rows" ? attach.rows : attach.columns) = static_cast<std::uint16_t>(*number);
    } else {
      return wrong(key, "unknown key; valid keys: socket, terminal, rows, columns, optional");
    }
    if (!done) return done;
  }
  if (!attach.socket.starts_with('/')) return wrong("attach.socket", "must be an absolute path");
  target = std::move(attach);
  return {};
}

std::vector<NumberRange> number_ranges() {
  std::vector<NumberRange> ranges;
  for (const NumberKey& key : kNumbers) {
    const double one = key.measure == Measure::Whole   ? 1
                       : key.measure == Measure::Cores ? 1e3
                                                       : 1e6;
    ranges.push_back({.key = std::string(key.name),
                      .least = static_cast<double>(key.least) / one,
                      .most = static_cast<double>(key.most) / one,
                      .is_whole = key.measure == Measure::Whole});
  }
  return ranges;
}

}  // namespace berth::daemon
