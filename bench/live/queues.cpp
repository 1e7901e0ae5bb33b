#include "live/queues.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace berth::bench {

namespace {

constexpr std::int64_t kVram = std::int64_t{20} << 30;

std::string socket_of(const Bed& bed) { return bed / "socket"; }
std::string state_of(const Bed& bed) { return bed / "state"; }

/// A variable of a file with a variable in each line.
std::string variable(const std::string& path, const std::string& name) {
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  }
  return "";
}

bool has_ended(pid_t pid) { return waitpid(pid, nullptr, WNOHANG) == pid; }

}  // namespace

Berthd::Berthd(const Bed& bed, pid_t pid, http::Client client)
    : pid_(pid),
      state_(state_of(bed)),
      socket_(socket_of(bed)),
      libraries_(variable(state_ + "/emu.env", "LD_LIBRARY_PATH")),
      client_(std::move(client)) {}

Expected<Berthd> Berthd::start(const Bed& bed, const std::string& gpus,
                               const std::string& settings) {
  const std::string config = bed / "berth.toml";  // or it would read the machine's
  std::ofstream(config) << settings;
  const auto pid = bed.start({.words = {built("berthd"), "--state", state_of(bed), "--socket",
                                        socket_of(bed), "--config", config, "--emulate", gpus},
                              .environment = usual_environment()});
  if (!pid) return std::unexpected(pid.error());
  std::optional<http::Client> client;
  bool is_over = false;
  const auto answers = eventually("berthd answers", [&] {
    is_over = has_ended(*pid);
    auto opened = http::Client::open(socket_of(bed));
    if (opened && opened->request("GET", "/v1/version")) client = std::move(*opened);
    return client || is_over;
  });
  if (!answers) return std::unexpected(answers.error());
  if (is_over) return fail(ErrorCode::Conflict, "berthd ended: " + bed.log());
  return Berthd(bed, *pid, std::move(*client));
}

Expected<void> Berthd::end(int signal) {
  if (kill(pid_, signal) == 0 && waitpid(pid_, nullptr, 0) == pid_) return {};
  return fail(ErrorCode::Io, "berthd: cannot be ended");
}

Expected<pid_t> Berthd::shim_of(int job) const {
  const std::string path = state_ + "/attempts/" + std::to_string(job) + ".1";
  int shim = 0;
  if (std::sscanf(slurp(path).c_str(), "%*[^\n]\n%*[^\n]\nshim %d", &shim) == 1) return shim;
  return fail(ErrorCode::BadData, path + ": names no shim");
}

Expected<int> Berthd::submit(const Words& command, const Words& environment, const Json& more) {
  Json body = {{"command", command},
               {"directory", "/"},
               {"environment", environment},
               {"vram_bytes", kVram}};
  body.update(more);
  const auto answer = client_.request("POST", "/v1/jobs", body.dump());
  if (!answer) return std::unexpected(answer.error());
  if (answer->status != 201) return fail(ErrorCode::Conflict, "berthd: " + answer->body);
  return Json::parse(answer->body).at("id").get<int>();
}

Expected<void> Berthd::post(const std::string& target) {
  const auto answer = client_.request("POST", target);
  if (!answer) return std::unexpected(answer.error());
  if (answer->status != 200) return fail(ErrorCode::Conflict, "berthd: " + answer->body);
  return {};
}

Expected<Json> Berthd::get(const std::string& target) {
  const auto answer = client_.request("GET", target);
  if (!answer) return std::unexpected(answer.error());
  if (answer->status != 200) return fail(ErrorCode::Conflict, "berthd: " + answer->body);
  return Json::parse(answer->body);
}

Program berth_submit(const Bed& bed, const std::string& berth, const Words& command,
                     Words environment) {
  Program program{.words = {berth, "submit", "--vram", "20G", "--"},
                  .environment = std::move(environment)};
  program.words.insert(program.words.end(), command.begin(), command.end());
  program.environment.push_back("BERTH_SOCKET=" + socket_of(bed));
  return program;
}

Program berth_ls(const Bed& bed) {
  return {.words = {built("berth"), "ls"}, .environment = {"BERTH_SOCKET=" + socket_of(bed)}};
}

TaskSpooler::TaskSpooler(const Bed& bed, Words environment)
    : tsp_(installed("tsp")), environment_(std::move(environment)) {
  environment_.push_back("TS_SOCKET=" + (bed / "tsp"));
  environment_.push_back("TMPDIR=" + bed.path());
  environment_.emplace_back("TS_SLOTS=1");
}

Program TaskSpooler::submit(const Words& command) const {
  Program program{.words = {tsp_}, .environment = environment_};
  program.words.insert(program.words.end(), command.begin(), command.end());
  return program;
}

Gate::Gate(const Bed& bed, const std::string& name)
    : path_(bed / name),
      // Read and written, so that opening it never waits for the other end.
      pipe_(mkfifo(path_.c_str(), 0600) == 0 ? ::open(path_.c_str(), O_RDWR | O_CLOEXEC) : -1) {
  if (pipe_ < 0) std::abort();
}

Gate::~Gate() { close(pipe_); }

void Gate::pass(const std::string& text) const {
  if (write(pipe_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
}

}  // namespace berth::bench
