#include "daemon/requests.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstring>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/amounts.hpp"
#include "core/array_text.hpp"
#include "core/limits.hpp"
#include "core/saving_text.hpp"
#include "core/words.hpp"
#include "daemon/announcer.hpp"
#include "daemon/order.hpp"
#include "engine/engine.hpp"
#include "gpu/probe.hpp"
#include "shim/inherited.hpp"

namespace berth::daemon {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kDeepest = 8;
/// As many words as a command may have, and more than any other request needs.
constexpr std::size_t kMostValues = std::size_t{1} << 18;
static_assert(kMostValues * (1 + sizeof(char*)) > limits::kMostWords);
constexpr std::string_view kGpuFailure = "gpu-failure";

std::unexpected<Error> refuse(const std::string& key, const std::string& what) {
  return fail(ErrorCode::InvalidArgument, key + ": " + what);
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) text.resize(60), text += "...";
  return text;
}

/// Why it cannot be an argument, a path or a variable; nothing for a text without NUL.
std::optional<std::string> fault_of(const Json& value) {
  if (!value.is_string()) return "must be a string, is " + shown(value);
  if (value.get_ref<const std::string&>().find('\0') == std::string::npos) return std::nullopt;
  return "holds a NUL byte";
}

Expected<void> read(const std::string& key, Json& value, std::string& target) {
  if (const auto fault = fault_of(value)) return refuse(key, *fault);
  target = std::move(value.get_ref<std::string&>());
  return {};
}

Expected<void> read(const std::string& key, Json& value, Label& target) {
  std::string text;
  if (auto done = read(key, value, text); !done) return done;
  target = std::move(text);
  return {};
}

Expected<void> read(const std::string& key, const Json& value, bool& target) {
  if (!value.is_boolean()) return refuse(key, "must be true or false, is " + shown(value));
  target = value.get<bool>();
  return {};
}

Expected<void> read(const std::string& key, Json& value, std::vector<std::string>& target) {
  if (!value.is_array()) return refuse(key, "must be a list of strings, is " + shown(value));
  target.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (const auto fault = fault_of(value[i])) {
      return refuse(key + "[" + std::to_string(i) + "]", *fault);
    }
    target.push_back(std::move(value[i].get_ref<std::string&>()));
  }
  return {};
}

/// A whole number within limits; 1e3 and 4.0 are refused as 4.5 is.
Expected<std::int64_t> integer(const std::string& key, const Json& value, std::int64_t least,
                               std::int64_t most) {
  if (!value.is_number()) return refuse(key, "must be a whole number, is " + shown(value));
  if (value.is_number_float()) {
    return refuse(key,
                  shown(value) + ", must be a whole number of at most " + std::to_string(most));
  }
  const bool too_large =
      value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (too_large) return refuse(key, shown(value) + ", the most is " + std::to_string(most));
  const auto number = value.get<std::int64_t>();
  if (number < least) return refuse(key, shown(value) + ", the least is " + std::to_string(least));
  if (number > most) return refuse(key, shown(value) + ", the most is " + std::to_string(most));
  return number;
}

Expected<double> real(const std::string& key, const Json& value, double most) {
  if (!value.is_number()) return refuse(key, "must be a number, is " + shown(value));
  const double number = value.get<double>();
  if (!(number > 0)) return refuse(key, shown(value) + ", must be more than 0");
  if (!(number <= most)) {
    return refuse(key, shown(value) + ", the most is " + std::to_string(std::llround(most)));
  }
  return number;
}

/// A time that somebody states, in seconds since 1970.
Expected<Instant> instant_in(const std::string& key, const Json& value) {
  const auto at = real(key, value, static_cast<double>(micros(limits::kLastInstant)) / 1e6);
  if (at) return instant_from_micros(std::max<std::int64_t>(1, std::llround(*at * 1e6)));
  Error error = at.error();
  if (error.message.find("the most is") != std::string::npos) error.message += " (2200-01-01)";
  return std::unexpected(std::move(error));
}

template <class Enum>
Expected<void> read_word(const std::string& key, const Json& value, Enum& target) {
  const auto found =
      value.is_string() ? from_word<Enum>(value.get_ref<const std::string&>()) : std::nullopt;
  if (!found) return refuse(key, shown(value) + " is unknown; valid values: " + all_words<Enum>());
  target = *found;
  return {};
}

/// Charges and measurements go in the same steps (see machine.cpp).
Bytes round_up(std::int64_t bytes) {
  const std::int64_t step = kProbeStep.raw();
  return Bytes((bytes + step - 1) / step * step);
}

Expected<void> read_attach(Json& value, std::optional<shim::Attach>& target) {
  if (!value.is_object()) return refuse("attach", "must be an object, is " + shown(value));
  shim::Attach attach;
  for (auto& [name, part] : value.items()) {
    const std::string key = "attach." + name;
    Expected<void> done;
    if (name == "socket") {
      done = read(key, part, attach.socket);
    } else if (name == "terminal") {
      done = read(key, part, attach.terminal);
    } else if (name == "optional") {
      done = read(key, part, attach.optional);
    } else if (name == "rows" || name == "columns") {
      const auto number = integer(key, part, 0, 65535);
      if (!number) return std::unexpected(number.error());
      (name == "rows" ? attach.rows : attach.columns) = static_cast<std::uint16_t>(*number);
    } else {
      return refuse(key, "unknown key; valid keys: socket, terminal, rows, columns, optional");
    }
    if (!done) return done;
  }
  if (!attach.socket.starts_with('/')) return refuse("attach.socket", "must be an absolute path");
  target = std::move(attach);
  return {};
}

/// The folder is removed with the job by a process of its user, so a slip must not name another.
Expected<void> read_snapshot(Json& value, std::string& target) {
  if (auto done = read("snapshot", value, target); !done) return done;
  constexpr std::string_view kParent = "/berth/snapshots/";
  const std::size_t at = target.rfind(kParent);
  const std::string_view name =
      at == std::string::npos ? "" : std::string_view(target).substr(at + kParent.size());
  const bool is_one = target.starts_with('/') && !name.empty() && name != "." && name != ".." &&
                      name.find('/') == name.npos && target.find("/../") == std::string::npos &&
                      target.size() <= limits::kMostPath;
  if (is_one) return {};
  return refuse("snapshot", "'" + target.substr(0, 60) +
                                "' is not the absolute path of a folder in berth/snapshots");
}

/// `{job, when}`, with `task` for one job of an array.
Expected<live::AfterTask> read_dependency(const std::string& key, const Json& value) {
  if (!value.is_object()) return refuse(key, "must be an object, is " + shown(value));
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
      return refuse(full, "unknown key; valid keys: job, when, task");
    }
    const bool is_job = name == "job";
    const auto number = is_job ? integer(full, part, 1, static_cast<std::int64_t>(kLastJob.value()))
                               : integer(full, part, 0, limits::kMostTask);
    if (!number) return std::unexpected(number.error());
    if (is_job) after.on.job = JobId(static_cast<std::uint64_t>(*number));
    if (!is_job) after.task = *number;
  }
  if (after.on.job == JobId(0)) return refuse(key + ".job", "is missing");
  return after;
}

Expected<void> read_after(Json& value, std::vector<live::AfterTask>& target) {
  if (!value.is_array()) return refuse("after", "must be a list, is " + shown(value));
  if (value.size() > limits::kMostDependencies) {
    return refuse("after", std::to_string(value.size()) + " jobs, the most is " +
                               std::to_string(limits::kMostDependencies));
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
    return refuse("requeue_on", "must be a list of 1 to " + std::to_string(limits::kMostCodes) +
                                    " exit codes or \"gpu-failure\", is " + shown(value));
  }
  for (const Json& code : value) {
    if (code.is_string() && code.get_ref<const std::string&>() == kGpuFailure) {
      target.requeue_on_gpu_failure = true;
      continue;
    }
    const auto number = integer("requeue_on", code, 1, 255);
    if (!number) return std::unexpected(number.error());
    target.requeue_on.push_back(static_cast<std::int32_t>(*number));
  }
  std::ranges::sort(target.requeue_on);
  target.requeues = limits::kMostRequeues;
  return {};
}

/// `{signal, grace_seconds}`.
Expected<void> read_saving(const Json& value, Saving& target) {
  if (!value.is_object()) return refuse("on_preempt", "must be an object, is " + shown(value));
  target.grace = kUsualSaveGrace;
  for (const auto& [key, part] : value.items()) {
    const std::string full = "on_preempt." + key;
    if (key == "signal") {
      if (!part.is_string()) return refuse(full, "must be a string, is " + shown(part));
      const auto signal = parse_signal(part.get_ref<const std::string&>());
      if (!signal) return refuse(full, signal.error().message);
      target.signal = *signal;
    } else if (key == "grace_seconds") {
      const auto grace = real(full, part, static_cast<double>(micros(limits::kLongestGrace)) / 1e6);
      if (!grace) return std::unexpected(grace.error());
      target.grace = Duration(std::llround(*grace * 1e6));
    } else {
      return refuse(full, "unknown key; valid keys: signal, grace_seconds");
    }
  }
  if (target.signal == 0) return refuse("on_preempt.signal", "is missing");
  return {};
}

/// A size or a duration may be a text as on the command line. Returns: the number.
Expected<Json> plain_amount(const std::string& key, const Json& value) {
  if (!value.is_string()) return value;
  const auto& text = value.get_ref<const std::string&>();
  const auto wrong = [&](const Error& error) {
    return refuse(key, "'" + text.substr(0, 60) + "' " + error.message);
  };
  if (key.ends_with("_bytes")) {
    const auto size = parse_size(text);
    return size ? Expected<Json>(size->raw()) : wrong(size.error());
  }
  if (key.ends_with("_seconds")) {
    const auto time = parse_duration(text);
    return time ? Expected<Json>(static_cast<double>(micros(*time)) / 1e6) : wrong(time.error());
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

struct FieldReader;

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
  void (*set)(FieldReader&, std::int64_t);
};

/// The number as it is counted; refused beyond the ends of its range.
Expected<std::int64_t> raw_number(const NumberKey& key, const Json& value) {
  const std::string name(key.name);
  if (key.measure == Measure::Whole) return integer(name, value, key.least, key.most);
  if (key.measure == Measure::Instant) {
    const auto at = instant_in(name, value);
    return at ? Expected<std::int64_t>(micros(*at)) : std::unexpected(at.error());
  }
  const double one = key.measure == Measure::Cores ? 1e3 : 1e6;
  const auto stated = real(name, value, static_cast<double>(key.most) / one);
  if (!stated) return std::unexpected(stated.error());
  const double counted = *stated * one;
  const double whole = key.measure == Measure::Cores ? std::ceil(counted) : counted;
  return std::max(key.least, static_cast<std::int64_t>(std::llround(whole)));
}

/// The text's own keys, one by one.
struct FieldReader {
  live::Submission& job;
  std::vector<std::string> environment;
  Conditions conditions = {};
  std::int32_t warn_signal = 0;
  std::optional<Duration> warn_before = {};
  live::Notice notice = {};

  Expected<void> read_signal(const Json& value) {
    constexpr std::string_view kKey = "warning_signal";
    const auto signal =
        value.is_string() ? signal_number(value.get_ref<const std::string&>()) : std::nullopt;
    if (!signal) {
      return refuse(std::string(kKey),
                    shown(value) + ", must be a signal that a program can take, as USR1 or INT");
    }
    warn_signal = *signal;
    return {};
  }

  Expected<void> read_occasions(const Json& value) {
    const auto on = value.is_string() ? live::parse_occasions(value.get_ref<const std::string&>())
                                      : fail(ErrorCode::InvalidArgument, "must be a string");
    if (!on) return refuse("notify_on", on.error().message);
    notice.on = *on;
    return {};
  }

  /// What is said in several keys, put together.
  Expected<void> finish() {
    if (warn_before && warn_signal == 0) return refuse("warning_signal", "is missing");
    if (warn_signal != 0) {
      const Duration limit = job.spec.time_limit;
      const Duration before = warn_before.value_or(minutes(1));
      if (limit == kForever) {
        return refuse("warning_signal", "comes before a time limit, and there is none");
      }
      if (before >= limit) {
        return refuse("warning_seconds", std::to_string(micros(before) / 1'000'000) +
                                             ", the time limit is " +
                                             std::to_string(micros(limit) / 1'000'000));
      }
      job.command.warning = live::Warning{.signal = warn_signal, .before = before};
    }
    if (notice.to.empty() && !notice.on.empty()) return refuse("notify", "is missing");
    if (notice.to.size() > limits::kMostPath) {
      return refuse("notify", std::to_string(notice.to.size()) + " bytes, the most is " +
                                  std::to_string(limits::kMostPath));
    }
    if (notice.to.empty()) return {};
    if (is_broken_mail_address(notice.to)) {
      return refuse("notify", "'" + notice.to.substr(0, 60) + "' is no whole mail address");
    }
    if (notice.on.empty()) notice.on = {live::Occasion::End};
    job.command.notice = std::move(notice);
    return {};
  }

  Expected<void> read_array(const Json& value) {
    if (!value.is_string()) return refuse("array", "must be a string, is " + shown(value));
    const auto& text = value.get_ref<const std::string&>();
    auto array = parse_array(text);
    if (!array) return refuse("array", "'" + text.substr(0, 60) + "' " + array.error().message);
    job.tasks = std::move(array->tasks);
    conditions.array.at_once = array->at_once;
    return {};
  }

  Expected<void> number(const NumberKey& key, const Json& given) {
    const std::string name(key.name);
    const auto plain = plain_amount(name, given);
    if (!plain) return std::unexpected(plain.error());
    const auto raw = raw_number(key, *plain);
    if (!raw) return std::unexpected(raw.error());
    key.set(*this, *raw);
    return {};
  }

  Expected<void> read_indices(const Json& value) {
    if (!value.is_array() || value.empty() || value.size() > kMostInSet) {
      return refuse("gpu_indices", "must be a list of 1 to " + std::to_string(kMostInSet) +
                                       " indices, as GET /v1/gpus has them");
    }
    for (const Json& one : value) {
      const auto index = integer("gpu_indices", one, 0, limits::kMostGpus);
      if (!index) return std::unexpected(index.error());
      if (std::ranges::count(job.gpu_indices, *index) > 0) {
        return refuse("gpu_indices", "GPU " + std::to_string(*index) + " is there twice");
      }
      job.gpu_indices.push_back(*index);
    }
    return {};
  }

  Expected<void> read_share(Json& value) {
    if (auto done = read("share", value, job.share); !done) return done;
    const std::string& share = job.share;
    const bool is_known = share == "exclusive" || share == "timeslice" || share == "mps" ||
                          (share.starts_with("mig:") && share.size() > 4);
    if (!is_known) {
      return refuse("share",
                    "'" + share.substr(0, 60) +
                        "', must be exclusive, timeslice, mps or mig:PROFILE as mig:3g.40gb");
    }
    if (share == "exclusive") job.spec.request.gpu.sharing = Sharing::Alone;
    return {};
  }

  /// Texts are moved out of the value: an environment is most of a request.
  Expected<void> operator()(const std::string& key, Json& value);
};

GpuRequest& gpu_of(FieldReader& reader) { return reader.job.spec.request.gpu; }

constexpr std::int64_t kLongest = micros(limits::kLongestTime);
constexpr std::int64_t kLatest = micros(limits::kLastInstant);

/// Every key with a number. The ends are the table of limits' own, which the command line reads
/// too; a test drives each through a snapshot.
constexpr auto kNumbers = std::to_array<NumberKey>({
    {"gpus", Measure::Whole, 0, limits::kMostGpus,
     [](FieldReader& r, std::int64_t n) { gpu_of(r).count = GpuCount(n); }},
    {"min_gpus", Measure::Whole, 1, limits::kMostGpus,
     [](FieldReader& r, std::int64_t n) { gpu_of(r).min = GpuCount(n); }},
    {"max_gpus", Measure::Whole, 1, limits::kMostGpus,
     [](FieldReader& r, std::int64_t n) { gpu_of(r).max = GpuCount(n); }},
    {"vram_bytes", Measure::Whole, kLeastPlain.raw(), limits::kMostMemory.raw(),
     [](FieldReader& r, std::int64_t n) { gpu_of(r).vram = round_up(n); }},
    {"gpu_milli", Measure::Whole, 1, kWholeGpu.raw(),
     [](FieldReader& r, std::int64_t n) { gpu_of(r).milli = GpuMilli(n); }},
    {"gpu_processes", Measure::Whole, 1, limits::kMostGpuProcesses,
     [](FieldReader& r, std::int64_t n) { gpu_of(r).processes = static_cast<std::int32_t>(n); }},
    {"cpus", Measure::Cores, 1, limits::kMostCores.raw(),
     [](FieldReader& r, std::int64_t n) { r.job.spec.request.cpu = CpuMilli(n); }},
    {"mem_bytes", Measure::Whole, kLeastPlain.raw(), limits::kMostMemory.raw(),
     [](FieldReader& r, std::int64_t n) { r.job.spec.request.host = Bytes(n); }},
    {"pids", Measure::Whole, 1, limits::kMostProcesses,
     [](FieldReader& r, std::int64_t n) { r.job.command.processes = n; }},
    {"umask", Measure::Whole, 0, 0777,
     [](FieldReader& r, std::int64_t n) { r.job.command.umask = static_cast<mode_t>(n); }},
    {"priority", Measure::Whole, 0, limits::kMostPriority,
     [](FieldReader& r, std::int64_t n) { r.job.spec.priority = static_cast<std::int32_t>(n); }},
    {"retries", Measure::Whole, 0, limits::kMostRetries,
     [](FieldReader& r, std::int64_t n) { r.job.spec.retries = static_cast<std::int32_t>(n); }},
    {"batch", Measure::Whole, 1, limits::kMostBatch,
     [](FieldReader& r, std::int64_t n) { r.job.spec.batch = n; }},
    {"time_limit_seconds", Measure::Span, 1, kLongest,
     [](FieldReader& r, std::int64_t n) { r.job.spec.time_limit = Duration(n); }},
    {"estimate_seconds", Measure::Span, 1, kLongest,
     [](FieldReader& r, std::int64_t n) { r.job.spec.estimate = Duration(n); }},
    {"warning_seconds", Measure::Span, 1, kLongest,
     [](FieldReader& r, std::int64_t n) { r.warn_before = Duration(n); }},
    {"deadline_at", Measure::Instant, 1, kLatest,
     [](FieldReader& r, std::int64_t n) { r.job.spec.deadline = instant_from_micros(n); }},
    {"begin_at", Measure::Instant, 1, kLatest,
     [](FieldReader& r, std::int64_t n) { r.conditions.begin = instant_from_micros(n); }},
});

Expected<void> FieldReader::operator()(const std::string& key, Json& value) {
  if (key == "command") return read(key, value, job.command.arguments);
  if (key == "environment") return read(key, value, environment);
  if (key == "directory") return read(key, value, job.command.directory);
  if (key == "name") return read(key, value, job.name);
  if (key == "held") return read(key, value, job.held);
  if (key == "class") return read_word(key, value, job.spec.duration_class);
  if (key == "job_group") return read(key, value, job.spec.group);
  if (key == "model") return read(key, value, job.spec.model);
  if (key == "gpu_types") return read(key, value, job.gpu_types);
  if (key == "gpu_indices") return read_indices(value);
  if (key == "share") return read_share(value);
  if (key == "vram_shrink") {
    bool allowed = false;
    auto done = read(key, value, allowed);
    job.vram_shrink = allowed;
    return done;
  }
  if (key == "attach") return read_attach(value, job.command.attach);
  if (key == "output") return read(key, value, job.command.output);
  if (key == "snapshot") return read_snapshot(value, job.command.snapshot);
  if (key == "after") return read_after(value, job.after);
  if (key == "requeue_on") return read_codes(value, conditions);
  if (key == "on_preempt") return read_saving(value, conditions.on_preempt);
  if (key == "unique") return read(key, value, conditions.unique);
  if (key == "array") return read_array(value);
  if (key == "warning_signal") return read_signal(value);
  if (key == "notify") return read(key, value, notice.to);
  if (key == "notify_on") return read_occasions(value);
  if (key == "exclusive") {
    bool exclusive = false;
    auto done = read(key, value, exclusive);
    if (exclusive) job.spec.request.gpu.sharing = Sharing::Alone;
    return done;
  }
  const auto* const number_key = std::ranges::find(kNumbers, key, &NumberKey::name);
  if (number_key != kNumbers.end()) return number(*number_key, value);
  return refuse(key, "unknown key; doc/openapi.yaml names all");
}

/// No program can be started with a longer one.
Expected<void> check_lengths(const std::string& key, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].size() <= limits::kMostWord) continue;
    return refuse(key + "[" + std::to_string(i) + "]",
                  "'" + words[i].substr(0, 40) + "...', " + std::to_string(words[i].size()) +
                      " bytes, the most is " + std::to_string(limits::kMostWord));
  }
  return {};
}

std::size_t size_of(const std::vector<std::string>& words) {
  std::size_t size = 0;
  for (const std::string& word : words) size += word.size() + 1 + sizeof(char*);
  return size;
}

Expected<void> check(const live::Submission& job, const std::vector<std::string>& environment) {
  const live::Command& command = job.command;
  if (command.arguments.empty() || command.arguments.front().empty()) {
    return refuse("command", "is empty, must name a program");
  }
  if (!command.directory.starts_with('/')) {
    return refuse("directory", "'" + command.directory + "', must be an absolute path");
  }
  if (command.directory.size() > limits::kMostPath) {
    return refuse("directory", std::to_string(command.directory.size()) + " bytes, the most is " +
                                   std::to_string(limits::kMostPath));
  }
  if (job.name.size() > limits::kMostName) {
    return refuse("name", std::to_string(job.name.size()) + " bytes, the most is " +
                              std::to_string(limits::kMostName));
  }
  for (const auto& [key, text] :
       {std::pair("job_group", &job.spec.group), std::pair("model", &job.spec.model)}) {
    const std::size_t size = text->text().size();
    if (size <= limits::kMostLabel) continue;
    return refuse(
        key, std::to_string(size) + " bytes, the most is " + std::to_string(limits::kMostLabel));
  }
  if (environment.size() > limits::kMostVariables) {
    return refuse("environment", std::to_string(environment.size()) + " variables, the most is " +
                                     std::to_string(limits::kMostVariables));
  }
  for (std::size_t i = 0; i < environment.size(); ++i) {
    const std::size_t equals = environment[i].find('=');
    if (equals == std::string::npos || equals == 0) {
      return refuse("environment[" + std::to_string(i) + "]",
                    "'" + environment[i].substr(0, 60) + "', must be NAME=value");
    }
  }
  if (auto done = check_lengths("command", command.arguments); !done) return done;
  if (auto done = check_lengths("environment", environment); !done) return done;
  const std::size_t size = size_of(command.arguments) + size_of(environment);
  if (size > limits::kMostWords) {
    return refuse("command and environment", std::to_string(size) + " bytes, the most is " +
                                                 std::to_string(limits::kMostWords));
  }
  const GpuRequest& gpu = job.spec.request.gpu;
  if (gpu.count == GpuCount(0)) {
    if (gpu.vram != Bytes(0)) {
      return refuse("vram_bytes", std::to_string(gpu.vram.raw()) + " with 0 GPUs, must be absent");
    }
    if (gpu.min + gpu.max > GpuCount(0)) {
      return refuse("min_gpus and max_gpus", "a job with 0 GPUs has neither");
    }
  }
  return {};
}

Expected<void> check(const live::Submission& job, const Conditions& asked) {
  if (asked.unique.size() > limits::kMostUnique) {
    return refuse("unique", std::to_string(asked.unique.size()) + " bytes, the most is " +
                                std::to_string(limits::kMostUnique));
  }
  if (job.command.output.size() > limits::kMostPath) {
    return refuse("output", std::to_string(job.command.output.size()) + " bytes, the most is " +
                                std::to_string(limits::kMostPath));
  }
  if (!job.tasks.empty() && !asked.unique.empty()) {
    return refuse("unique", "with array, whose jobs would all have the same key");
  }
  if (job.command.attach && !job.tasks.empty()) {
    return refuse("array", "with attach, which is of one job");
  }
  if (job.command.attach && !asked.unique.empty()) {
    return refuse("unique", "with attach: there would be nothing to attend");
  }
  if (job.command.attach && !job.command.output.empty()) {
    return refuse("output", "with attach: the terminal that attends the job has its output");
  }
  return {};
}

/// Reads a text once, and checks it meanwhile. Copying or printing values that are too deep would
/// exhaust the stack; a key that stands twice means one thing to one reader, another to the next.
/// The library's own way to watch a parse looks through a whole list at the end of each of its
/// parts.
class Reader : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!is_shallow()) return false;
    auto& members = open_.back()->get_ref<Json::object_t&>();
    const auto [member, is_new] = members.try_emplace(std::move(name));
    if (!is_new) return refuse(member->first.substr(0, 60) + ": is there twice");
    member_ = &member->second;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }
  const std::optional<std::string>& fault() const { return fault_; }
  Json take() { return std::move(whole_); }

 private:
  bool refuse(std::string what) {
    if (!fault_) fault_ = std::move(what);
    return false;
  }
  bool is_shallow() {
    if (open_.size() <= kDeepest) return true;
    return refuse("the request is nested deeper than " + std::to_string(kDeepest) + " levels");
  }
  bool add(Json value) { return place(std::move(value)) != nullptr; }
  /// Null for one too many.
  Json* place(Json value) {
    if (!is_shallow()) return nullptr;
    if (++values_ > kMostValues) {
      refuse("the request has more than " + std::to_string(kMostValues) +
             " values, which is the most");
      return nullptr;
    }
    Json* const target = open_.empty()              ? &whole_
                         : open_.back()->is_array() ? &open_.back()->emplace_back()
                                                    : member_;
    *target = std::move(value);
    return target;
  }
  bool open(Json empty) {
    Json* const target = place(std::move(empty));
    if (target != nullptr) open_.push_back(target);  // it moves no more while it is open
    return target != nullptr;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json whole_;
  std::vector<Json*> open_;
  Json* member_ = nullptr;  ///< Of the innermost object: whose key was read.
  std::size_t values_ = 0;
  std::optional<std::string> fault_;
};

Expected<Json> parse(std::string_view body) {
  Reader reader;
  const bool is_json = Json::sax_parse(body.begin(), body.end(), &reader);
  if (reader.fault()) return fail(ErrorCode::BadData, *reader.fault());
  if (!is_json) return fail(ErrorCode::BadData, "the request is not JSON in UTF-8");
  Json json = reader.take();
  if (!json.is_object()) return fail(ErrorCode::BadData, "the request is not a JSON object");
  return json;
}

}  // namespace

Expected<live::Submission> parse_submission(std::string_view body, const http::Peer& peer,
                                            const JobDefaults& defaults) {
  auto json = parse(body);
  if (!json) return std::unexpected(json.error());
  live::Submission job;
  job.spec.request.gpu.count = GpuCount(1);
  FieldReader reader{.job = job, .environment = {}};
  for (auto& [key, value] : json->items()) {
    if (auto done = reader(key, value); !done) return std::unexpected(done.error());
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  if (!json->contains("environment")) return refuse("environment", "is missing");
  if (auto done = check(job, reader.environment); !done) return std::unexpected(done.error());
  if (auto done = check(job, reader.conditions); !done) return std::unexpected(done.error());
  job.spec.conditions = std::move(reader.conditions);
  GpuRequest& gpu = job.spec.request.gpu;
  const auto indices = static_cast<std::int64_t>(job.gpu_indices.size());
  if (indices > 0 && !json->contains("gpus")) gpu.count = GpuCount(indices);
  if (gpu.max > GpuCount(0) && gpu.min == GpuCount(0)) gpu.min = gpu.count;
  if (gpu.min > GpuCount(0) && gpu.max == GpuCount(0)) gpu.max = gpu.count;
  if (indices > 0 && (gpu.count == GpuCount(0) || gpu.most() > GpuCount(indices))) {
    return refuse("gpu_indices", std::to_string(indices) + " for a job of " +
                                     std::to_string(gpu.most().raw()) +
                                     " GPUs; it needs 1 at least, and as many indices");
  }
  if (job.spec.request.gpu.count == GpuCount(0)) {
    job.spec.request.gpu.sharing = Sharing::Shared;
    if (!json->contains("cpus")) job.spec.request.cpu = defaults.cpu;
  }
  job.spec.user = UserId(peer.user);
  job.command.owner = {peer.user, peer.group, peer.groups};
  shim::drop_inherited(reader.environment);
  std::erase_if(reader.environment, [](const std::string& variable) {
    return variable.starts_with(kShare) || variable.starts_with("BERTH_VRAM_SHRINK=");
  });
  if (job.share == "mps" && gpu.most() == GpuCount(0)) {
    return refuse("share", "'mps' with 0 GPUs, needs 1 at least");
  }
  live::Words environment = live::variables_in_parts(std::move(reader.environment));
  const bool allowed_by_default = defaults.shrinks.contains(job.spec.user);
  if (job.vram_shrink.value_or(allowed_by_default)) {
    environment.first.emplace_back(live::kShrinkAllowed);
  }
  if (!job.share.empty()) environment.first.push_back(std::string(kShare) + job.share);
  job.environment = live::encode_environment(environment.first);
  job.more_environment = std::move(environment.more);
  live::note_programs(job.command);
  live::Words arguments = live::in_parts(std::move(job.command.arguments));
  job.command.arguments = std::move(arguments.first);
  job.more_arguments = std::move(arguments.more);
  return job;
}

namespace {

/// The types that accept this way to share. A type is MIG instances or whole GPUs, never both.
GpuTypes types_for(std::string_view share, const Cluster& cluster) {
  const auto names = cluster.type_names();
  GpuTypes types = 0;
  for (const GpuId id : cluster.gpu_ids()) {
    const bool is_instance = cluster.gpu(id).share_mode == ShareMode::Mig;
    const std::string& name = names[cluster.gpu(id).type];
    const bool fits = share == "timeslice" || share == "mps"
                          ? !is_instance
                          : is_instance && name.ends_with(" MIG " + std::string(share.substr(4)));
    if (fits) types |= cluster.type_bit(id);
  }
  return types;
}

Expected<void> keep_to_share(live::Submission& job, const Cluster& cluster) {
  if (job.share.empty() || job.share == "exclusive") return {};
  GpuTypes& types = job.spec.request.gpu.types;
  const GpuTypes fitting = types_for(job.share, cluster);
  const GpuTypes left = types == 0 ? fitting : types & fitting;
  if (left == 0) {
    std::string all;
    for (const std::string& type : cluster.type_names()) all += (all.empty() ? "" : ", ") + type;
    return refuse("share", "'" + job.share.substr(0, 60) +
                               "': no GPU that the job accepts is like that; the types here: " +
                               (all.empty() ? "none" : all));
  }
  types = left;
  return {};
}

/// Programs use one MIG instance at most, so a job of several GPUs keeps off them.
Expected<void> keep_to_one_instance(GpuRequest& gpu, const Cluster& cluster) {
  GpuTypes whole = 0;
  bool has_instances = false;
  for (const GpuId id : cluster.gpu_ids()) {
    const bool is_instance = cluster.gpu(id).share_mode == ShareMode::Mig;
    has_instances = has_instances || is_instance;
    if (!is_instance) whole |= cluster.type_bit(id);
  }
  if (!has_instances || gpu.most() <= GpuCount(1)) return {};
  const GpuTypes left = gpu.types == 0 ? whole : gpu.types & whole;
  if (left == 0) {
    return refuse("gpus", std::to_string(gpu.most().raw()) +
                              ", and a program can use one MIG instance, the GPUs it may have "
                              "here; the most is 1");
  }
  gpu.types = left;
  return {};
}

Expected<void> keep_to_indices(live::Submission& job, const Cluster& cluster) {
  const std::int64_t gpus = cluster.gpu_count().raw();
  for (const std::int64_t index : job.gpu_indices) {
    const std::string name = "GPU " + std::to_string(index) + ": ";
    if (index >= gpus) {
      return refuse("gpu_indices",
                    name + (gpus == 0 ? "this machine has none"
                                      : "this machine has " + std::to_string(gpus) +
                                            ", the last is GPU " + std::to_string(gpus - 1)));
    }
    if (index >= std::int64_t{kMostInSet}) {
      return refuse("gpu_indices",
                    name + "the last that a job may name is GPU " + std::to_string(kMostInSet - 1));
    }
    const GpuId gpu(static_cast<std::uint32_t>(index));
    const GpuTypes types = job.spec.request.gpu.types;
    if (types != 0 && (types & cluster.type_bit(gpu)) == 0) {
      return refuse("gpu_indices", name + "has type " +
                                       cluster.type_names()[cluster.gpu(gpu).type] +
                                       ", which is none of those that the job may have");
    }
    job.spec.request.gpu.only |= set_of(gpu);
  }
  return {};
}

}  // namespace

Expected<void> accept_gpus(live::Submission& job, const Cluster& cluster) {
  const auto known = cluster.type_names();
  for (const std::string& name : job.gpu_types) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      std::string all;
      for (const std::string& type : known) all += (all.empty() ? "" : ", ") + type;
      return refuse("gpu_types", "'" + name.substr(0, 60) +
                                     "' is not a GPU type of this machine; its types: " +
                                     (all.empty() ? "none" : all));
    }
    job.spec.request.gpu.types |= GpuTypes{1} << (found - known.begin());
  }
  if (auto done = keep_to_share(job, cluster); !done) return done;
  if (auto done = keep_to_one_instance(job.spec.request.gpu, cluster); !done) return done;
  return keep_to_indices(job, cluster);
}

namespace {

constexpr std::array<std::string_view, 7> kChangeable = {
    "vram_bytes", "time_limit_seconds", "name", "priority", "gpus", "gpu_types", "gpu_indices"};

}  // namespace

Expected<GpuRequest> changed_gpus(const GpuRequest& asked, const Change& change,
                                  const Cluster& cluster) {
  live::Submission job;
  GpuRequest& gpu = job.spec.request.gpu = asked;
  if (change.gpus) {
    if (asked.count == GpuCount(0) || *change.gpus == GpuCount(0)) {
      return refuse("gpus", "a job with GPUs and one without cannot be made of each other");
    }
    if (asked.is_elastic() && (*change.gpus < asked.min || *change.gpus > asked.max)) {
      return refuse("gpus", std::to_string(change.gpus->raw()) + ", the job runs on " +
                                std::to_string(asked.min.raw()) + " to " +
                                std::to_string(asked.max.raw()));
    }
    gpu.count = *change.gpus;
  }
  if (!change.gpu_types.empty()) gpu.types = 0;
  if (!change.gpu_indices.empty()) gpu.only = 0;
  job.gpu_types = change.gpu_types;
  job.gpu_indices = change.gpu_indices;
  if (auto done = accept_gpus(job, cluster); !done) return std::unexpected(done.error());
  return gpu;
}

namespace {

/// Of an object.
Expected<Change> read_change(Json& json) {
  live::Submission given;
  given.spec.request.gpu.vram = Bytes(0);
  FieldReader reader{.job = given, .environment = {}};
  Change change;
  for (auto& [key, value] : json.items()) {
    if (std::ranges::find(kChangeable, key) == kChangeable.end()) {
      std::string valid;
      for (const std::string_view one : kChangeable) {
        valid += (valid.empty() ? "" : ", ") + std::string(one);
      }
      return refuse(key, "cannot be changed; valid keys: " + valid);
    }
    if (auto done = reader(key, value); !done) return std::unexpected(done.error());
    if (key == "vram_bytes") change.vram = given.spec.request.gpu.vram;
    if (key == "time_limit_seconds") change.time_limit = given.spec.time_limit;
    if (key == "priority") change.priority = given.spec.priority;
    if (key == "name") change.name = given.name;
    if (key == "gpus") change.gpus = given.spec.request.gpu.count;
  }
  change.gpu_types = std::move(given.gpu_types);
  change.gpu_indices = std::move(given.gpu_indices);
  if (given.name.size() > limits::kMostName) {
    return refuse("name", std::to_string(given.name.size()) + " bytes, the most is " +
                              std::to_string(limits::kMostName));
  }
  if (json.empty()) return fail(ErrorCode::InvalidArgument, "nothing is to be changed");
  return change;
}

/// Handles are texts; a number may stand without quotes.
Expected<void> read_handles(const Json& value, std::vector<Handle>& target) {
  if (!value.is_array() || value.empty()) {
    return refuse("jobs", "must be a list of handles as \"643_5\", is " + shown(value));
  }
  std::size_t count = 0;
  for (const Json& one : value) {
    if (!one.is_string() && !one.is_number_unsigned()) {
      return refuse("jobs", shown(one) + " is no handle, as 643, \"643_5\" or \"train-*\"");
    }
    auto handles = parse_handles(one.is_string() ? one.get_ref<const std::string&>() : one.dump());
    if (!handles) return refuse("jobs", handles.error().message);
    count += count_of(*handles);
    if (count > kMostHandles) {
      return refuse("jobs", "more than " + std::to_string(kMostHandles) +
                                " handles and ranges of tasks, the most of one request; name "
                                "ranges as \"7-12\", or a name");
    }
    std::ranges::move(*handles, std::back_inserter(target));
  }
  return {};
}

Expected<void> read_user_numbers(const Json& value, std::set<UserId>& target) {
  if (!value.is_array() || value.empty()) {
    return refuse("users", "must be a list of uids, is " + shown(value));
  }
  for (const Json& one : value) {
    const auto user = integer("users", one, 0, std::numeric_limits<std::uint32_t>::max());
    if (!user) return std::unexpected(user.error());
    target.insert(UserId(static_cast<std::uint32_t>(*user)));
  }
  return {};
}

}  // namespace

Expected<Change> parse_change(std::string_view body) {
  auto json = parse(body);
  return json ? read_change(*json) : std::unexpected(json.error());
}

Expected<ManyJobs> parse_many(std::string_view body) {
  ManyJobs many;
  if (body.empty()) return many;
  auto json = parse(body);
  if (!json) return std::unexpected(json.error());
  for (auto& [key, value] : json->items()) {
    Expected<void> done;
    if (key == "jobs") {
      done = read_handles(value, many.handles);
    } else if (key == "users") {
      done = read_user_numbers(value, many.users);
    } else if (key == "change" && value.is_object()) {
      auto change = read_change(value);
      if (!change) return refuse("change", change.error().message);
      many.change = std::move(*change);
    } else {
      done = refuse(key, key == "change" ? "must be an object, is " + shown(value)
                                         : "unknown key; valid keys: jobs, users, change");
    }
    if (!done) return std::unexpected(done.error());
  }
  return many;
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

Expected<shim::Attach> parse_attach(std::string_view body) {
  auto json = parse(body);
  if (!json) return std::unexpected(json.error());
  std::optional<shim::Attach> attach;
  if (auto done = read_attach(*json, attach); !done) return std::unexpected(done.error());
  if (attach->socket.size() > limits::kMostPath) {
    return refuse("attach.socket", std::to_string(attach->socket.size()) + " bytes, the most is " +
                                       std::to_string(limits::kMostPath));
  }
  return std::move(*attach);
}

namespace {

using GpuList = std::optional<std::vector<std::uint32_t>>;

/// `"all"` (nothing), or a list of indices.
Expected<GpuList> read_gpus(const std::string& key, const Json& value, std::size_t gpus) {
  if (value == "all") return std::nullopt;
  if (!value.is_array() || value.empty()) {
    return refuse(key, "must be all or a list of indices, is " + shown(value));
  }
  std::vector<std::uint32_t> list;
  for (const Json& one : value) {
    const auto index = integer(key, one, 0, limits::kMostGpus);
    if (!index) return std::unexpected(index.error());
    if (*index >= static_cast<std::int64_t>(gpus)) {
      return refuse(key,
                    "GPU " + std::to_string(*index) + ": this machine has " + std::to_string(gpus));
    }
    list.push_back(static_cast<std::uint32_t>(*index));
  }
  return list;
}

Expected<void> check_reason(const std::string& reason) {
  if (reason.size() <= limits::kMostName) return {};
  return refuse("reason", std::to_string(reason.size()) + " bytes, the most is " +
                              std::to_string(limits::kMostName));
}

/// One key of a reservation.
Expected<void> read_reserve(ReservationWish& wish, const std::string& key, Json& value,
                            std::size_t gpus) {
  if (key == "reason") return read(key, value, wish.reason);
  if (key == "users") return read(key, value, wish.users);
  if (key == "gpus") {
    auto list = read_gpus(key, value, gpus);
    if (!list) return std::unexpected(list.error());
    wish.gpus = std::move(*list);
    return {};
  }
  if (key != "from_at" && key != "until_at") {
    return refuse(key, "unknown key; valid keys: gpus, users, from_at, until_at, reason");
  }
  const auto at = instant_in(key, value);
  if (!at) return std::unexpected(at.error());
  if (key == "from_at") wish.from = *at;
  if (key == "until_at") wish.until = *at;
  return {};
}

}  // namespace

Expected<ReservationWish> parse_reserve(std::string_view body, std::size_t gpus) {
  auto json = parse(body);
  if (!json) return std::unexpected(json.error());
  for (const char* const key : {"gpus", "users", "until_at"}) {
    if (!json->contains(key)) return refuse(key, "is missing");
  }
  ReservationWish wish;
  for (auto& [key, value] : json->items()) {
    if (auto done = read_reserve(wish, key, value, gpus); !done) {
      return std::unexpected(done.error());
    }
  }
  if (wish.users.empty()) return refuse("users", "names nobody");
  if (wish.users.size() > limits::kMostUsers) {
    return refuse("users", std::to_string(wish.users.size()) + " names, the most is " +
                               std::to_string(limits::kMostUsers));
  }
  if (auto done = check_reason(wish.reason); !done) return std::unexpected(done.error());
  return wish;
}

Expected<std::vector<ReservationId>> parse_unreserve(std::string_view body) {
  auto json = parse(body);
  if (!json) return std::unexpected(json.error());
  std::vector<ReservationId> list;
  for (auto& [key, value] : json->items()) {
    if (key != "reservations") return refuse(key, "unknown key; valid keys: reservations");
    if (!value.is_array()) return refuse(key, "must be a list of numbers, is " + shown(value));
    for (const Json& one : value) {
      const auto number = integer(key, one, 1, std::numeric_limits<std::int32_t>::max());
      if (!number) return std::unexpected(number.error());
      list.emplace_back(static_cast<std::uint32_t>(*number));
    }
  }
  if (list.empty()) return refuse("reservations", "names none");
  return list;
}

Expected<DrainWish> parse_drain(std::string_view body, std::size_t gpus) {
  auto json = parse(body);
  if (!json) return std::unexpected(json.error());
  DrainWish wish;
  bool is_named = false;
  for (auto& [key, value] : json->items()) {
    if (key == "reason") {
      if (auto done = read(key, value, wish.reason); !done) return std::unexpected(done.error());
    } else if (key == "until_at") {
      const auto at = instant_in(key, value);
      if (!at) return std::unexpected(at.error());
      wish.until = *at;
    } else if (key == "gpus") {
      is_named = true;
      auto list = read_gpus(key, value, gpus);
      if (!list) return std::unexpected(list.error());
      wish.gpus = std::move(*list);
    } else {
      return refuse(key, "unknown key; valid keys: gpus, reason, until_at");
    }
  }
  if (!is_named) return refuse("gpus", "is missing");
  if (auto done = check_reason(wish.reason); !done) return std::unexpected(done.error());
  return wish;
}

}  // namespace berth::daemon
