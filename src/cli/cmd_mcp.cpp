#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <thread>

#include "cli/daemon.hpp"
#include "cli/mcp.hpp"
#include "cli/submission.hpp"
#include "cli/verbs.hpp"

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

Expected<std::uint64_t> job_in(const Json& arguments) {
  const Json& value = part_of(arguments, "job");
  if (value.is_number_integer() && value >= 1) return value.get<std::uint64_t>();
  return wrong("job", value, "the number of a job");
}

/// What an option of `berth submit` would be written as.
Expected<std::string> typed(const std::string& name, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  return wrong(name, value, "a text or a number");
}

struct TextArgument {
  const char* name;
  std::optional<std::string> JobOptions::* option;
};
constexpr auto kTexts = std::to_array<TextArgument>({{"vram", &JobOptions::vram},
                                                     {"gpus", &JobOptions::gpus},
                                                     {"gpu_index", &JobOptions::gpu_index},
                                                     {"class", &JobOptions::job_class},
                                                     {"time", &JobOptions::time},
                                                     {"name", &JobOptions::name},
                                                     {"retries", &JobOptions::retries},
                                                     {"directory", &JobOptions::directory}});

Expected<JobOptions> options_in(const Json& arguments) {
  JobOptions options;
  for (const TextArgument& text : kTexts) {
    const Json& value = part_of(arguments, text.name);
    if (value.is_null()) continue;
    auto given = typed(text.name, value);
    if (!given) return std::unexpected(given.error());
    options.*text.option = std::move(*given);
  }
  options.exclusive = is_set(arguments, "exclusive");
  const Json& command = part_of(arguments, "command");
  const bool is_words =
      command.is_array() && !command.empty() &&
      std::ranges::all_of(command, [](const Json& word) { return word.is_string(); });
  if (!is_words) return wrong("command", command, R"(a list of words, such as ["python", "a.py"])");
  options.command = command.get<std::vector<std::string>>();
  return options;
}

/// The tools, each of which asks the daemon of one socket.
class Tools {
 public:
  explicit Tools(CommonOptions common) : common_(std::move(common)) {}

  Expected<Json> submit(const Json& arguments) const {
    const auto options = options_in(arguments);
    if (!options) return std::unexpected(options.error());
    const auto caller = this_caller();
    if (!caller) return std::unexpected(caller.error());
    const auto made = submission_of(*options, *caller);
    if (!made) return std::unexpected(made.error());
    const bool is_tried = is_set(arguments, "dry_run");
    return post(is_tried ? "/v1/jobs?dry_run=true" : "/v1/jobs", made->body.dump());
  }

  Expected<Json> listed(const Json& arguments, const std::string& which) const {
    const auto most = whole(arguments, "limit", kUsualJobs, kMostListed);
    if (!most) return std::unexpected(most.error());
    return get("/v1/jobs?limit=" + std::to_string(*most) + which);
  }

  Expected<Json> about(const Json& arguments, const char* rest) const {
    const auto job = job_in(arguments);
    return job ? get(job_target(*job, rest)) : std::unexpected(job.error());
  }

  Expected<Json> cancelled(const Json& arguments) const {
    const auto job = job_in(arguments);
    return job ? post(job_target(*job, "/cancel"), {}) : std::unexpected(job.error());
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
    const Json& jobs = part_of(arguments, "jobs");
    if (!jobs.is_array() || jobs.empty()) return wrong("jobs", jobs, "a list of job numbers");
    const auto longest = whole(arguments, "seconds", kUsualWait, kMostWait);
    if (!longest) return std::unexpected(longest.error());
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(*longest);
    Backoff backoff;
    for (;;) {
      Json ended = Json::array();
      Json others = Json::array();
      for (const Json& number : jobs) {
        const auto job = job_in({{"job", number}});
        if (!job) return std::unexpected(job.error());
        auto answer = get(job_target(*job));
        if (!answer) return answer;
        if (has_ended(*answer)) {
          ended.push_back(std::move(*answer));
        } else {
          others.push_back(number);
        }
      }
      if (!ended.empty() || std::chrono::steady_clock::now() >= until)
        return Json{{"ended", ended}, {"others", others}};
      std::this_thread::sleep_for(backoff.next());
    }
  }

  Expected<Json> get(const std::string& target) const {
    auto daemon = Daemon::open(common_);
    return daemon ? daemon->get(target) : std::unexpected(daemon.error());
  }

 private:
  Expected<Json> post(const std::string& target, std::string body) const {
    auto daemon = Daemon::open(common_);
    return daemon ? daemon->post(target, std::move(body)) : std::unexpected(daemon.error());
  }

  CommonOptions common_;
};

constexpr std::string_view kOneJob = R"({"type": "object", "required": ["job"],
  "properties": {"job": {"type": "integer", "minimum": 1}}})";
constexpr std::string_view kNothing = R"({"type": "object", "properties": {}})";
constexpr std::string_view kLimit = R"({"type": "object", "properties":
  {"limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 50}}})";
constexpr std::string_view kSubmit = R"({"type": "object", "required": ["command"], "properties": {
  "command": {"type": "array", "items": {"type": "string"}, "minItems": 1,
              "description": "Program and arguments; for a shell line: [\"bash\", \"-c\", LINE]."},
  "vram": {"type": "string", "description": "Memory per GPU, such as 20G. Without it: whole GPUs."},
  "gpus": {"type": "integer", "minimum": 0,
           "description": "How many; by default 1, or as many as gpu_index names."},
  "gpu_index": {"type": "string",
                "description": "The only GPUs that it accepts, such as 1, 0,2 or 0-3 (tool gpus)."},
  "class": {"enum": ["short", "medium", "long", "service"]},
  "time": {"type": "string", "description": "Time limit, such as 30min or 2h."},
  "name": {"type": "string"},
  "retries": {"type": "integer", "description": "Tries with more memory after out-of-memory."},
  "directory": {"type": "string", "description": "Working directory; by default berth mcp's."},
  "exclusive": {"type": "boolean", "description": "No other job on its GPUs."},
  "dry_run": {"type": "boolean", "description": "Submit nothing; say when it would start."}}})";
constexpr std::string_view kLogs = R"({"type": "object", "required": ["job"], "properties": {
  "job": {"type": "integer", "minimum": 1},
  "bytes": {"type": "integer", "minimum": 1, "maximum": 1048576, "default": 8192,
            "description": "The last so many."}}})";
constexpr std::string_view kWait = R"({"type": "object", "required": ["jobs"], "properties": {
  "jobs": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
  "seconds": {"type": "integer", "minimum": 1, "maximum": 3600, "default": 60,
              "description": "Longest wait."}}})";

std::vector<McpTool> tools_of(const Tools& tools) {
  return {
      {"submit", "Queue a command as a GPU job; answers its number.", kSubmit,
       [&](const Json& given) { return tools.submit(given); }},
      {"jobs", "The running and the waiting jobs, with the reasons why they wait.", kLimit,
       [&](const Json& given) { return tools.listed(given, ""); }},
      {"history", "Jobs that have ended, newest first, with their outcomes.", kLimit,
       [&](const Json& given) { return tools.listed(given, "&only=ended"); }},
      {"show", "Everything about one job.", kOneJob,
       [&](const Json& given) { return tools.about(given, ""); }},
      {"why", "What a job waits for, and when it is predicted to start.", kOneJob,
       [&](const Json& given) { return tools.about(given, "/why"); }},
      {"wait", "Wait until one of these jobs has ended, or the time is over.", kWait,
       [&](const Json& given) { return tools.waited(given); }},
      {"logs", "The end of a job's output.", kLogs,
       [&](const Json& given) { return tools.output(given); }},
      {"cancel", "End a job.", kOneJob, [&](const Json& given) { return tools.cancelled(given); }},
      {"gpus", "The GPUs, their free memory, the jobs on them and other processes.", kNothing,
       [&](const Json&) { return tools.get("/v1/gpus"); }},
  };
}

int serve(const CommonOptions& common) {
  const Tools tools(common);
  const std::vector<McpTool> list = tools_of(tools);
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    if (const auto answer = mcp_answer(line, list)) std::cout << *answer << std::endl;
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
