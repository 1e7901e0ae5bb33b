#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <thread>

#include "cli/ask/daemon.hpp"
#include "cli/ask/job_choice.hpp"
#include "cli/job/begin_time.hpp"
#include "cli/job/jobs_before.hpp"
#include "cli/job/submission.hpp"
#include "cli/mcp/mcp.hpp"
#include "cli/print/table_forms.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/job_text.hpp"
#include "core/text/handle.hpp"
#include "core/text/job_fields.hpp"

namespace berth::cli {

namespace {

constexpr std::int64_t kMostWait = 3600;
constexpr std::int64_t kUsualWait = 60;
constexpr std::int64_t kMostBytes = 1 << 20;
constexpr std::int64_t kUsualBytes = 8192;
constexpr std::int64_t kMostListed = 1000;
constexpr std::int64_t kUsualJobs = 50;

std::unexpected<Error> wrong(const std::string& name, const Json& value, const std::string& must) {
  return fail(ErrorCode::InvalidArgument, name + ": " + value.dump() + ", must be " + must);
}

Expected<std::int64_t> whole(const Json& arguments, const char* name, std::int64_t usual,
                             std::int64_t most) {
  const Json& value = part_of(arguments, name);
  if (value.is_null()) return usual;
  if (value.is_number_integer() && value >= 1 && value <= most) return value.get<std::int64_t>();
  return wrong(name, value, "a whole number from 1 to " + std::to_string(most));
}

/// A handle: a text, or the number of a job.
Expected<std::string> handle_in(const Json& value, const char* name) {
  const bool is_number = value.is_number_integer() && value >= 1;
  if (!is_number && !value.is_string()) return wrong(name, value, "a job, as 7 or \"643_5\"");
  const std::string typed = is_number ? value.dump() : value.get<std::string>();
  const auto handles = parse_handles(typed);
  return handles ? Expected<std::string>(typed) : std::unexpected(handles.error());
}

Expected<std::string> job_in(const Json& arguments) {
  return handle_in(part_of(arguments, "job"), "job");
}

/// Those of `jobs`, or the only one.
Expected<std::vector<std::string>> jobs_in(const Json& value) {
  const Json list = value.is_array() ? value : Json::array({value});
  if (list.empty()) return wrong("jobs", value, "a list of jobs");
  std::vector<std::string> jobs;
  for (const Json& one : list) {
    auto job = handle_in(one, "jobs");
    if (!job) return std::unexpected(job.error());
    jobs.push_back(std::move(*job));
  }
  return jobs;
}

/// What an option of `berth submit` would be written as.
Expected<std::string> typed(const std::string& name, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  return wrong(name, value, "a text or a number");
}

/// Takes what stands there of these fields; an argument is called as the option is, `gpu_index` for
/// `--gpu-index`. A tool lets nothing through that is not in its schema.
template <class IsAsked>
Expected<void> take_typed(JobOptions& options, const Json& arguments, IsAsked is_asked) {
  for (const JobField& field : kJobFields) {
    if (field.option.type.empty() || !is_asked(field)) continue;
    std::string name(field.option.name.substr(2));
    std::ranges::replace(name, '-', '_');
    const Json& value = part_of(arguments, name.c_str());
    if (value.is_null()) continue;
    auto given = typed(name, value);
    if (!given) return std::unexpected(given.error());
    options[field.option.name] = std::move(*given);
  }
  return {};
}

/// `lr="0.1","0.01"`, as `--param` takes it, of `[0.1, 0.01]`; a text as it is typed there.
Expected<std::string> parameter_in(const std::string& name, const Json& value) {
  if (value.is_string()) return name + "=" + value.get<std::string>();
  std::string list;
  for (const Json& one : value.is_array() ? value : Json::array({value})) {
    const bool is_value = one.is_string() || one.is_number() || one.is_boolean();
    if (!is_value) return wrong("params." + name, value, R"(a list such as [0.1, 0.01] or "1-5")");
    list += list.empty() ? "\"" : ",\"";
    for (const char c : one.is_string() ? one.get<std::string>() : one.dump()) {
      list.append(c == '"' ? 2 : 1, c);
    }
    list += '"';
  }
  return name + "=" + list;
}

Expected<JobOptions> options_in(const Json& arguments) {
  JobOptions options;
  const auto done = take_typed(options, arguments, [](const JobField&) { return true; });
  if (!done) return std::unexpected(done.error());
  if (const Json& directory = part_of(arguments, "directory"); !directory.is_null()) {
    options["--cwd"] = directory.get<std::string>();
  }
  options.exclusive = is_set(arguments, "exclusive");
  options.hold = is_set(arguments, "hold");
  if (const Json& after = part_of(arguments, "after"); !after.is_null()) {
    const auto jobs = jobs_in(after);
    if (!jobs) return std::unexpected(jobs.error());
    std::string list;
    for (const std::string& job : *jobs) list += (list.empty() ? "" : ",") + job;
    options["--after"] = std::move(list);
  }
  for (const auto& [name, value] : part_of(arguments, "env").items()) {
    if (!value.is_string()) return wrong("env." + name, value, "a text");
    options.environment.push_back(name + "=" + value.get<std::string>());
  }
  for (const auto& [name, value] : part_of(arguments, "params").items()) {
    auto parameter = parameter_in(name, value);
    if (!parameter) return std::unexpected(parameter.error());
    options.params.push_back(std::move(*parameter));
  }
  const Json& command = part_of(arguments, "command");
  const bool is_words =
      command.is_array() && !command.empty() &&
      std::ranges::all_of(command, [](const Json& word) { return word.is_string(); });
  if (!is_words) return wrong("command", command, R"(a list of words, such as ["python", "a.py"])");
  options.command = command.get<std::vector<std::string>>();
  return options;
}

/// What a model reads of a job.
constexpr auto kBrief = std::to_array<const char*>({"id",
                                                    "handle",
                                                    "name",
                                                    "state",
                                                    "tasks",
                                                    "array_tasks",
                                                    "user_name",
                                                    "gpus",
                                                    "gpu_count",
                                                    "vram_bytes",
                                                    "class",
                                                    "reason_brief",
                                                    "started_at",
                                                    "submitted_at",
                                                    "ended_at",
                                                    "exit_code",
                                                    "note",
                                                    "peak_bytes",
                                                    "after",
                                                    "failed_tasks",
                                                    "reports",
                                                    "predicted_start_at",
                                                    "predicted_by_at"});

/// The rows under `key` with few members, unless `brief` is false; what is empty is left out.
Json shortened(Json answer, const char* key, const Json& arguments) {
  const Json& brief = part_of(arguments, "brief");
  if (brief.is_boolean() && !brief.get<bool>()) return answer;
  Json& list = answer[key];
  if (!list.is_array()) return answer;
  for (Json& job : list) {
    Json kept = Json::object();
    for (const char* const name : kBrief) {
      const Json& value = part_of(job, name);
      if (!value.is_null() && value != "" && value != Json::array()) kept[name] = value;
    }
    job = std::move(kept);
  }
  return answer;
}

/// The tools, each of which asks the daemon of one socket.
class Tools {
 public:
  explicit Tools(CommonOptions common) : common_(std::move(common)) {}

  Expected<Json> submit(const Json& arguments) const {
    const auto options = options_in(arguments);
    if (!options) return std::unexpected(options.error());
    const Caller caller = this_caller();
    auto made = submission_of(*options, caller);
    if (!made) return std::unexpected(made.error());
    if (auto found = number_jobs_before(common_, made->body); !found) {
      return std::unexpected(found.error());
    }
    const bool is_tried = is_set(arguments, "dry_run");
    auto answer = post(is_tried ? "/v1/jobs?dry_run=true" : "/v1/jobs", made->body.dump());
    if (!answer) return answer;
    for (const std::string& warning : made->warnings) (*answer)["warnings"].push_back(warning);
    return answer;
  }

  Expected<Json> listed(const Json& arguments, const std::string& which) const {
    const auto most = whole(arguments, "limit", kUsualJobs, kMostListed);
    if (!most) return std::unexpected(most.error());
    auto answer = get("/v1/jobs?whole_arrays=true&limit=" + std::to_string(*most) + which);
    if (!answer) return answer;
    return shortened(std::move(*answer), "jobs", arguments);
  }

  Expected<Json> about(const Json& arguments, const char* rest) const {
    const auto job = job_in(arguments);
    if (!job) return std::unexpected(job.error());
    const auto rows = rows_of({*job});
    if (!rows) return std::unexpected(rows.error());
    if (rows->size() == 1) return get(job_target(handle_of(rows->front()), rest));
    return fail(ErrorCode::InvalidArgument,
                "job: " + *job + ": these are " + std::to_string(rows->size()) + " jobs; say one");
  }

  /// POST /v1/VERB.
  Expected<Json> changed(const Json& arguments, const char* verb) const {
    auto body = jobs_body(arguments);
    if (!body) return body;
    return post("/v1/" + std::string(verb), body->dump());
  }

  Expected<Json> updated(const Json& arguments) const {
    auto body = jobs_body(arguments);
    if (!body) return body;
    JobOptions options;
    const auto done = take_typed(options, arguments, may_be_changed);
    if (!done) return std::unexpected(done.error());
    const auto change = change_of(options, this_instant());
    if (!change) return std::unexpected(change.error());
    (*body)["change"] = *change;
    return post("/v1/update", body->dump());
  }

  Expected<Json> used(const Json& arguments) const {
    const std::string typed_since = text_of(arguments, "since");
    const auto since = parse_since(typed_since.empty() ? "30d" : typed_since, wall_now());
    if (!since) return std::unexpected(since.error());
    return get("/v1/usage?since=" + std::to_string(static_cast<std::int64_t>(*since)));
  }

  Expected<Json> output(const Json& arguments) const {
    const auto job = job_in(arguments);
    if (!job) return std::unexpected(job.error());
    const auto most = whole(arguments, "bytes", kUsualBytes, kMostBytes);
    if (!most) return std::unexpected(most.error());
    auto daemon = Daemon::open(common_);
    if (!daemon) return std::unexpected(daemon.error());
    const auto size = static_cast<std::size_t>(*most);
    std::string text;
    bool is_cut = false;
    const auto done = daemon->stream(job_target(*job, "/log"), [&](std::string_view piece) {
      text += piece;
      if (text.size() > size) {
        text.erase(0, text.size() - size);
        is_cut = true;
      }
      return true;
    });
    if (!done) return std::unexpected(done.error());
    return Json{{"job", *job}, {"cut", is_cut}, {"output", text}};
  }

  Expected<Json> waited(const Json& arguments) const {
    const auto jobs = jobs_in(part_of(arguments, "jobs"));
    if (!jobs) return std::unexpected(jobs.error());
    const auto rows = rows_of(*jobs);
    if (!rows) return std::unexpected(rows.error());
    const auto longest = whole(arguments, "seconds", kUsualWait, kMostWait);
    if (!longest) return std::unexpected(longest.error());
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(*longest);
    Backoff backoff;
    for (;;) {
      Json ended = Json::array();
      Json others = Json::array();
      for (const Json& row : *rows) {
        auto answer = get(job_target(handle_of(row)));
        if (!answer) return answer;
        if (has_ended(*answer)) {
          ended.push_back(std::move(*answer));
        } else {
          others.push_back(part_of(row, row.contains("handle") ? "handle" : "id"));
        }
      }
      if (!ended.empty() || std::chrono::steady_clock::now() >= until) {
        return shortened({{"ended", ended}, {"others", others}}, "ended", arguments);
      }
      std::this_thread::sleep_for(backoff.next());
    }
  }

  Expected<Json> get(const std::string& target) const {
    auto daemon = Daemon::open(common_);
    return daemon ? daemon->get(target) : std::unexpected(daemon.error());
  }

 private:
  /// What is named, an array as one.
  Expected<std::vector<Json>> rows_of(const std::vector<std::string>& jobs) const {
    auto daemon = Daemon::open(common_);
    if (!daemon) return std::unexpected(daemon.error());
    return chosen_rows(*daemon, {.typed = jobs, .users = {}}, Arrays::Whole);
  }

  Expected<Json> post(const std::string& target, std::string body) const {
    auto daemon = Daemon::open(common_);
    return daemon ? daemon->post(target, std::move(body)) : std::unexpected(daemon.error());
  }

  static Expected<Json> jobs_body(const Json& arguments) {
    const auto jobs = jobs_in(part_of(arguments, "jobs"));
    return jobs ? Expected<Json>(Json{{"jobs", *jobs}}) : std::unexpected(jobs.error());
  }

  CommonOptions common_;
};

constexpr std::string_view kNoneRequired = "[]";
constexpr std::string_view kNoArguments = "{}";
constexpr std::string_view kTheJob = R"(["job"])";
constexpr std::string_view kTheJobs = R"(["jobs"])";
constexpr std::string_view kOneJob = R"({"job": {"type": ["integer", "string"],
  "description": "7; 643 is a whole array, \"643_5\" a task of it; a name."}})";
constexpr std::string_view kManyJobs = R"({"jobs": {"type": ["array", "integer", "string"],
  "description": "Such as 7, [7, 9], 643 (a whole array), \"643_5\", \"7-12\", \"train-*\"."}})";
constexpr std::string_view kLimit = R"({
  "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 50},
  "brief": {"type": "boolean", "default": true, "description": "false: all that is known."}})";
constexpr std::string_view kSubmit = R"({
  "command": {"type": ["array"], "items": {"type": "string"}, "minItems": 1,
              "description": "Program and arguments; for a shell line: [\"bash\", \"-c\", LINE]."},
  "vram": {"type": ["string", "integer"],
           "description": "Memory per GPU, such as 20G. Without it: whole GPUs."},
  "gpus": {"type": ["integer", "string"], "minimum": 0,
           "description": "How many; by default 1, or as many as gpu_index names."},
  "gpu_index": {"type": ["string", "integer"],
                "description": "The only GPUs that it accepts, such as 1, 0,2 or 0-3 (tool gpus)."},
  "class": {"type": "string", "enum": ["short", "medium", "long", "service"]},
  "time": {"type": ["string", "integer"], "description": "Time limit, such as 30min or 2h."},
  "name": {"type": "string"},
  "retries": {"type": ["integer", "string"],
              "description": "Tries with more memory after out-of-memory."},
  "directory": {"type": "string", "description": "Working directory; by default berth mcp's."},
  "after": {"type": ["array", "integer", "string"],
            "description": "Jobs that must end well before it starts: 7 or [7, \"643_5\"]."},
  "array": {"type": "string",
            "description": "Jobs with $BERTH_ARRAY_TASK_ID: 1-100, or 1-100%8 for 8 at once."},
  "params": {"type": "object",
             "description": "A sweep: {\"lr\": [0.1, 0.01], \"seed\": \"1-5\"}, {lr} in command."},
  "at_once": {"type": ["integer", "string"], "minimum": 1,
              "description": "Of a sweep: most of its jobs that wait for a place or run."},
  "env": {"type": "object", "description": "Variables beside those of berth mcp."},
  "output": {"type": "string", "description": "A file for its output; %j is its number."},
  "hold": {"type": "boolean", "description": "It waits for the tool release."},
  "exclusive": {"type": "boolean", "description": "No other job on its GPUs."},
  "share": {"type": "string",
            "description": "now: joins other jobs at once; patient: may wait first; never."},
  "dry_run": {"type": "boolean", "description": "Submit nothing; say when it would start."}})";
constexpr std::string_view kLogs = R"({
  "job": {"type": ["integer", "string"], "description": "7, or \"643_5\" for a task of an array."},
  "bytes": {"type": "integer", "minimum": 1, "maximum": 1048576, "default": 8192,
            "description": "The last so many."}})";
constexpr std::string_view kWait = R"({
  "jobs": {"type": ["array", "integer", "string"],
           "description": "Such as [7, 643]: an array ends when all of it has."},
  "seconds": {"type": "integer", "minimum": 1, "maximum": 3600, "default": 60,
              "description": "Longest wait."},
  "brief": {"type": "boolean", "default": true, "description": "false: all that is known."}})";
constexpr std::string_view kUpdate = R"({
  "jobs": {"type": ["array", "integer", "string"], "description": "Jobs that wait to start."},
  "vram": {"type": ["string", "integer"]},
  "time": {"type": ["string", "integer"], "description": "Time limit, such as 30min."},
  "gpus": {"type": ["integer", "string"], "minimum": 1},
  "gpu_type": {"type": "string", "description": "The types that it accepts, as A100,H100."},
  "gpu_index": {"type": ["string", "integer"], "description": "The only GPUs that it accepts."},
  "share": {"type": "string", "description": "now, patient or never: when it joins other jobs."},
  "cpus": {"type": ["number", "string"]},
  "mem": {"type": ["string", "integer"], "description": "Host memory."},
  "name": {"type": "string"},
  "begin": {"type": "string", "description": "Do not start before: now, +2h, 22:00."},
  "priority": {"type": ["integer", "string"]},
  "at_once": {"type": ["integer", "string"], "minimum": 1,
              "description": "Of an array: most of its jobs that wait for a place or run."}})";
constexpr std::string_view kSince = R"({
  "since": {"type": "string", "default": "30d",
            "description": "12h, 30d, or a day: 2026-11-01."}})";

std::vector<McpTool> tools_of(const Tools& tools) {
  using enum McpTool::Effect;
  return {
      {"submit", "Queue a command as a GPU job, or an array of them; answers its number.", Changes,
       kSubmit, R"(["command"])", [&](const Json& given) { return tools.submit(given); }},
      {"jobs", "The running and the waiting jobs, with the reasons why they wait.", Reads, kLimit,
       kNoneRequired, [&](const Json& given) { return tools.listed(given, ""); }},
      {"history", "Jobs that have ended, newest first, with their outcomes.", Reads, kLimit,
       kNoneRequired, [&](const Json& given) { return tools.listed(given, "&only=ended"); }},
      {"show", "Everything about one job, or how far an array is.", Reads, kOneJob, kTheJob,
       [&](const Json& given) { return tools.about(given, ""); }},
      {"why", "What a job waits for, and when it is predicted to start.", Reads, kOneJob, kTheJob,
       [&](const Json& given) { return tools.about(given, "/why"); }},
      {"wait", "Wait until one of these jobs has ended, or the time is over.", Reads, kWait,
       kTheJobs, [&](const Json& given) { return tools.waited(given); }},
      {"logs", "The end of a job's output.", Reads, kLogs, kTheJob,
       [&](const Json& given) { return tools.output(given); }},
      {"cancel", "End jobs; those that wait first.", Ends, kManyJobs, kTheJobs,
       [&](const Json& given) { return tools.changed(given, "cancel"); }},
      {"hold", "Keep waiting jobs from starting.", Changes, kManyJobs, kTheJobs,
       [&](const Json& given) { return tools.changed(given, "hold"); }},
      {"release", "Let held jobs start.", Changes, kManyJobs, kTheJobs,
       [&](const Json& given) { return tools.changed(given, "release"); }},
      {"update", "Change jobs that wait to start, as a hint of the tool why says.", Changes,
       kUpdate, kTheJobs, [&](const Json& given) { return tools.updated(given); }},
      {"gpus", "The GPUs, their free memory, the jobs on them and other processes.", Reads,
       kNoArguments, kNoneRequired, [&](const Json&) { return tools.get("/v1/gpus"); }},
      {"usage", "GPU-hours, memory-hours and outcomes by user.", Reads, kSince, kNoneRequired,
       [&](const Json& given) { return tools.used(given); }},
  };
}

int serve(const CommonOptions& common) {
  const Tools tools(common);
  const std::vector<McpTool> list = tools_of(tools);
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    if (const auto answer = mcp_answer(line, list)) std::cout << *answer << '\n' << std::flush;
  }
  return std::cout ? 0 : report_failure("standard output: cannot write");
}

}  // namespace

void add_mcp(CLI::App& app, Action& chosen) {
  auto common = std::make_shared<CommonOptions>();
  CLI::App* const verb = app.add_subcommand(
      "mcp", "Serve the Model Context Protocol on standard input and output, with your rights.");
  verb->add_option("--socket", common->socket, "The daemon's socket.");
  verb->callback([common, &chosen] { chosen = [common] { return serve(*common); }; });
}

}  // namespace berth::cli
