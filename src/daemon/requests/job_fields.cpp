#include "daemon/requests/job_fields.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <csignal>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/base/limits.hpp"
#include "core/base/suggest.hpp"
#include "core/text/amounts.hpp"
#include "core/text/array_text.hpp"
#include "core/text/job_fields.hpp"
#include "core/text/points.hpp"
#include "core/text/saving_text.hpp"
#include "core/text/words.hpp"
#include "gpu/probe.hpp"

namespace berth::daemon {

namespace {

constexpr std::string_view kGpuFailure = "gpu-failure";

/// The folder is removed with the job by a process of its user, so a slip must not name another.
Expected<void> read_snapshot(JobFields& fields, const JobField&, Json& value) {
  std::string& target = fields.job.command.snapshot;
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

/// `{job, when}`, with `task` for one job of an array or `same_task` for that of the same number.
Expected<live::AfterTask> read_dependency(const std::string& key, const Json& value) {
  if (!value.is_object()) return wrong(key, "must be an object, is " + shown_json(value));
  live::AfterTask after;
  for (const auto& [name, part] : value.items()) {
    const std::string full = std::string(key).append(".").append(name);
    if (name == "when") {
      if (auto done = read_word(full, part, after.on.when); !done) {
        return std::unexpected(done.error());
      }
      continue;
    }
    if (name == "same_task") {
      if (auto done = read_value(full, part, after.same_task); !done) {
        return std::unexpected(done.error());
      }
      continue;
    }
    if (name != "job" && name != "task") {
      return wrong(full, "unknown key; valid keys: job, when, task, same_task");
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
  if (after.task && after.same_task) return wrong(key, "has task and same_task, one can be");
  return after;
}

Expected<void> read_after(JobFields& fields, const JobField&, Json& value) {
  if (!value.is_array()) return wrong("after", "must be a list, is " + shown_json(value));
  if (auto done = check_most("after", value.size(), " jobs", limits::kMostDependencies); !done) {
    return done;
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto after = read_dependency("after[" + std::to_string(i) + "]", value[i]);
    if (!after) return std::unexpected(after.error());
    fields.job.after.push_back(*after);
  }
  return {};
}

Expected<void> read_codes(JobFields& fields, const JobField&, Json& value) {
  Conditions& target = fields.conditions();
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
Expected<void> read_saving(JobFields& fields, const JobField&, Json& value) {
  Saving& target = fields.conditions().on_preempt;
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
Expected<Json> plain_amount(const JobField& field, const Json& value) {
  const bool is_size = field.kind == FieldKind::Size;
  if (!value.is_string() || (!is_size && field.kind != FieldKind::Time)) return value;
  const auto& text = value.get_ref<const std::string&>();
  const auto number = [&](const auto& amount) -> Expected<Json> {
    if (!amount) {
      return wrong(std::string(field.name),
                   "'" + text.substr(0, 60) + "' " + amount.error().message);
    }
    if (is_size) return counted(*amount);
    return static_cast<double>(counted(*amount)) / 1e6;
  };
  return is_size ? number(parse_size(text)) : number(parse_duration(text));
}

/// The number as it is counted; refused beyond the ends of its range.
Expected<std::int64_t> field_number(const JobField& field, const Json& given) {
  const std::string name(field.name);
  const auto value = plain_amount(field, given);
  if (!value) return std::unexpected(value.error());
  const std::int64_t in_one = counted_of_one(field.kind);
  if (in_one == 1) return integer_in(name, *value, field.range.least, field.range.most);
  if (field.kind == FieldKind::Moment) {
    Instant at;
    const auto done = read_value(name, *value, at);
    return done ? Expected<std::int64_t>(micros(at)) : std::unexpected(done.error());
  }
  const auto one = static_cast<double>(in_one);
  const auto stated = real_in(name, *value, static_cast<double>(field.range.most) / one);
  if (!stated) return std::unexpected(stated.error());
  const double count = *stated * one;
  const double whole = field.kind == FieldKind::Cores ? std::ceil(count) : count;
  return std::max(field.range.least, static_cast<std::int64_t>(std::llround(whole)));
}

/// A text is as long as its row says.
Expected<void> field_text(const JobField& field, Json& value, std::string& target) {
  const std::string key(field.name);
  if (auto done = read_value(key, value, target); !done) return done;
  return check_bytes(key, target.size(), static_cast<std::size_t>(field.range.most));
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

Expected<void> read_signal(JobFields& fields, const JobField&, Json& value) {
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

Expected<void> read_occasions(JobFields& fields, const JobField&, Json& value) {
  const auto on = value.is_string() ? live::parse_occasions(value.get_ref<const std::string&>())
                                    : fail(ErrorCode::InvalidArgument, "must be a string");
  if (!on) return wrong("notify_on", on.error().message);
  fields.notice.on = *on;
  return {};
}

Expected<void> read_program_words(JobFields& fields, const JobField&, Json& value) {
  std::vector<std::string>& words = fields.program.words;
  if (auto done = read_value("program_words", value, words); !done) return done;
  std::size_t size = 0;
  for (const std::string& word : words) size += word.size() + 1;
  if (size <= limits::kMostProgramWords) return {};
  return wrong("program_words", std::to_string(size) + " bytes, the most is " +
                                    std::to_string(limits::kMostProgramWords));
}

Expected<void> read_array(JobFields& fields, const JobField&, Json& value) {
  if (!value.is_string()) return wrong("array", "must be a string, is " + shown_json(value));
  const auto& text = value.get_ref<const std::string&>();
  auto array = parse_array(text);
  if (!array) return wrong("array", "'" + text.substr(0, 60) + "' " + array.error().message);
  fields.job.tasks = std::move(array->tasks);
  if (array->at_once > 0) fields.conditions().array.at_once = array->at_once;
  return {};
}

Expected<void> read_parameters(JobFields& fields, const JobField& field, Json& value) {
  std::vector<std::string>& names = fields.parameters;
  if (auto done = read_value("parameters", value, names); !done) return done;
  if (names.empty()) return wrong("parameters", "is empty, must name 1 at least");
  const auto most = static_cast<std::size_t>(field.range.most);
  if (auto done = check_most("parameters", names.size(), " names", most); !done) return done;
  for (auto name = names.begin(); name != names.end(); ++name) {
    const std::string shown = "'" + name->substr(0, 60) + "'";
    if (!is_parameter_name(*name) || name->size() > limits::kMostLabel) {
      return wrong("parameters", shown + " is no name of letters, digits and _, of " +
                                     std::to_string(limits::kMostLabel) + " bytes at most");
    }
    if (std::find(names.begin(), name, *name) != name) {
      return wrong("parameters", shown + " is there twice");
    }
  }
  return {};
}

/// A text, or a number as it is written.
Expected<std::string> value_in_point(const std::string& key, Json& value) {
  if (value.is_number()) return value.dump();
  std::string text;
  if (auto done = read_value(key, value, text); !done) return std::unexpected(done.error());
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::none_of(text, is_control)) return text;
  return wrong(key, "a value has a control character, such as a line break");
}

Expected<void> read_points(JobFields& fields, const JobField& field, Json& value) {
  const auto most = static_cast<std::size_t>(field.range.most);
  if (!value.is_array() || value.empty() || value.size() > most) {
    return wrong(
        "points",
        "must be a list of 1 to " + std::to_string(most) + " lists of values, is " +
            (value.is_array() ? "one of " + std::to_string(value.size()) : shown_json(value)));
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string key = "points[" + std::to_string(i) + "]";
    if (!value[i].is_array()) return wrong(key, "must be a list, is " + shown_json(value[i]));
    std::vector<std::string>& values = fields.points.emplace_back();
    for (Json& one : value[i]) {
      auto text = value_in_point(key, one);
      if (!text) return std::unexpected(text.error());
      values.push_back(std::move(*text));
    }
  }
  return {};
}

Expected<void> read_indices(JobFields& fields, const JobField&, Json& value) {
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

Expected<void> read_share(JobFields& fields, const JobField&, Json& value) {
  std::string text;
  if (auto done = read_value("share", value, text); !done) return done;
  const std::string shown = "'" + text.substr(0, 60) + "'";
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    const auto when = from_word<Sharing>(word == "exclusive" ? "never" : word);
    const bool is_how = word == "timeslice" || word == "mps" ||
                        (word.starts_with("mig:") && word.size() > std::size("mig:") - 1);
    if (!when && !is_how) {
      return wrong("share", shown +
                                ", must be now, patient or never, or timeslice, mps or mig:PROFILE "
                                "as mig:3g.40gb, or one of each, as now,mps");
    }
    if (when ? fields.sharing.has_value() : !fields.job.share.empty()) {
      return wrong("share", shown + " says twice " + (when ? "when" : "how"));
    }
    if (when) fields.sharing = when;
    if (is_how) fields.job.share = word;
  }
  if (fields.sharing) fields.job.spec.request.gpu.sharing = *fields.sharing;
  return {};
}

/// Charges and measurements go in the same steps (see machine.cpp).
Expected<void> read_vram(JobFields& fields, const JobField& field, Json& value) {
  const auto bytes = field_number(field, value);
  if (!bytes) return std::unexpected(bytes.error());
  const std::int64_t step = kProbeStep.raw();
  fields.job.spec.request.gpu.vram = Bytes((*bytes + step - 1) / step * step);
  return {};
}

Expected<void> read_attach_field(JobFields& fields, const JobField&, Json& value) {
  return read_attach(value, fields.job.command.attach);
}

/// The member that `Path` leads to, by its type.
template <auto... Path>
Expected<void> field_in(JobFields& fields, const JobField& field, Json& value) {
  auto& target = (fields.*....*Path);
  using Target = std::remove_reference_t<decltype(target)>;
  const std::string key(field.name);
  if constexpr (std::same_as<Target, std::string>) {
    return field_text(field, value, target);
  } else if constexpr (std::is_enum_v<Target>) {
    return read_word(key, value, target);
  } else if constexpr (std::same_as<Target, std::optional<bool>>) {
    return read_value(key, value, target.emplace());
  } else if constexpr (requires { read_value(key, value, target); }) {
    return read_value(key, value, target);
  } else {
    const auto number = field_number(field, value);
    if (!number) return std::unexpected(number.error());
    if constexpr (std::same_as<Target, std::optional<Duration>>) {
      target = Duration(*number);
    } else {
      target = static_cast<Target>(*number);
    }
    return {};
  }
}

struct FieldReader {
  std::string_view name;
  Expected<void> (*read)(JobFields& fields, const JobField& field, Json& value);
};

using live::Submission;

/// Of the fields that are not kept in a member of JobSpec as they are.
constexpr auto kReaders = std::to_array<FieldReader>({
    {"after", read_after},
    {"array", read_array},
    {"attach", read_attach_field},
    {"class", field_in<&JobFields::job, &Submission::spec, &JobSpec::duration_class>},
    {"command", field_in<&JobFields::job, &Submission::command, &live::Command::arguments>},
    {"directory", field_in<&JobFields::job, &Submission::command, &live::Command::directory>},
    {"environment", field_in<&JobFields::environment>},
    {"exclusive", field_in<&JobFields::exclusive>},
    {"gpu_indices", read_indices},
    {"gpu_types", field_in<&JobFields::job, &Submission::gpu_types>},
    {"held", field_in<&JobFields::job, &Submission::held>},
    {"name", field_in<&JobFields::job, &Submission::name>},
    {"notify", field_in<&JobFields::notice, &live::Notice::to>},
    {"notify_on", read_occasions},
    {"on_preempt", read_saving},
    {"output", field_in<&JobFields::job, &Submission::command, &live::Command::output>},
    {"parameters", read_parameters},
    {"pids", field_in<&JobFields::job, &Submission::command, &live::Command::processes>},
    {"points", read_points},
    {"program_words", read_program_words},
    {"requeue_on", read_codes},
    {"share", read_share},
    {"snapshot", read_snapshot},
    {"suspend", field_in<&JobFields::suspend>},
    {"umask", field_in<&JobFields::job, &Submission::command, &live::Command::umask>},
    {"vram_bytes", read_vram},
    {"vram_shrink", field_in<&JobFields::job, &Submission::vram_shrink>},
    {"warning_seconds", field_in<&JobFields::warn_before>},
    {"warning_signal", read_signal},
});

constexpr const FieldReader* reader_of(std::string_view name) {
  const auto* const found = std::ranges::find(kReaders, name, &FieldReader::name);
  return found == kReaders.end() ? nullptr : found;
}

#ifndef BERTH_POINTERS_ARE_NO_CONSTANTS
static_assert(std::ranges::all_of(kJobFields,
                                  [](const JobField& field) {
                                    return field.member.set_number != nullptr ||
                                           field.member.set_text != nullptr ||
                                           reader_of(field.name) != nullptr;
                                  }),
              "each field is kept in a member or has a reader");
static_assert(std::ranges::all_of(kReaders,
                                  [](const FieldReader& reader) {
                                    return find_job_field(reader.name) != nullptr;
                                  }),
              "each reader is of a field");
#endif

}  // namespace

std::string nearest_field(std::string_view key, FieldSet when) {
  std::vector<std::string> names;
  for (const JobField& field : kJobFields) {
    if (field.set >= when) names.emplace_back(field.name);
  }
  return did_you_mean(key, names);
}

Expected<void> read_field(JobFields& fields, const std::string& key, Json& value) {
  const JobField* const field = find_job_field(key);
  if (field == nullptr) {
    return wrong(key, "unknown key; doc/openapi.yaml names all" +
                          nearest_field(key, FieldSet::AtSubmission));
  }
  if (const FieldReader* const reader = reader_of(key)) return reader->read(fields, *field, value);
  if (field->member.set_text != nullptr) {
    std::string text;
    if (auto done = field_text(*field, value, text); !done) return done;
    field->member.set_text(fields.job.spec, std::move(text));
    return {};
  }
  const auto number = field_number(*field, value);
  if (!number) return std::unexpected(number.error());
  field->member.set_number(fields.job.spec, *number);
  return {};
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
    } else if (name == "errors_apart") {
      done = read_value(key, part, attach.errors_apart);
    } else if (name == "rows" || name == "columns") {
      const auto number = integer_in(key, part, 0, 65535);
      if (!number) return std::unexpected(number.error());
      (name == "rows" ? attach.rows : attach.columns) = static_cast<std::uint16_t>(*number);
    } else {
      return wrong(
          key, "unknown key; valid keys: socket, terminal, rows, columns, optional, errors_apart");
    }
    if (!done) return done;
  }
  if (!attach.socket.starts_with('/')) return wrong("attach.socket", "must be an absolute path");
  target = std::move(attach);
  return {};
}

}  // namespace berth::daemon
