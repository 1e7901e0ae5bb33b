#include "cli/ask/daemon.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "cli/ask/slurm_host.hpp"
#include "cli/print/option_words.hpp"
#include "http/address.hpp"

namespace berth::cli {

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_there(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0;
}

ErrorCode code_of(int status) {
  if (status == 409) return ErrorCode::Conflict;
  return status < 500 ? ErrorCode::InvalidArgument : ErrorCode::Io;
}

}  // namespace

void add_common(CLI::App& verb, CommonOptions& options) {
  verb.add_flag("--json", options.json, "Print JSON; names of members give their units.");
  verb.add_option("--socket", options.socket, "Socket of berthd; by default $BERTH_SOCKET.");
}

SocketChoice choose_socket(const CommonOptions& options) {
  if (!options.socket.empty()) return {options.socket, "--socket"};
  if (auto named = variable("BERTH_SOCKET"); !named.empty()) return {named, "$BERTH_SOCKET"};
  if (variable("BERTH_BACKEND") == "slurm") {
    return {std::string(http::kSlurmSocket), "$BERTH_BACKEND"};
  }
  const auto paths =
      http::socket_candidates(geteuid(), variable("XDG_RUNTIME_DIR"), variable("HOME"));
  const auto found = std::ranges::find_if(paths, is_there);
  if (found == paths.end() && is_slurm_host()) return {std::string(http::kSlurmSocket), "Slurm's"};
  const bool own = found != paths.end() && *found != http::kSystemSocket;
  if (own) return {*found, "yours"};
  return {paths.back(), "the machine's"};
}

std::string nobody_answers(const std::string& path, uid_t user) {
  if (path == http::kSlurmSocket) {
    const bool was_said = variable("BERTH_BACKEND") == "slurm";
    return "no " + std::string(was_said ? "berth-slurm" : "berthd and no berth-slurm") +
           " answers at " + (was_said ? path : std::string(http::kSystemSocket) + " and " + path) +
           "; without " + std::string(was_said ? "it" : "them") +
           " Slurm schedules, and sbatch, scancel and scontrol do this";
  }
  const std::string none = "no berthd answers at " + path;
  if (path == http::kSystemSocket && user != 0) {
    return none +
           "; an administrator starts the machine's: systemctl start berth. One of your own, "
           "for GPUs that nobody else uses: berthd, or berthd --emulate 2x24GiB without GPUs";
  }
  return none + "; start one with: berthd --emulate 2x24GiB (without GPUs) or berthd";
}

std::chrono::milliseconds Backoff::next() {
  const auto wait = wait_;
  wait_ = std::min(wait_ * 2, std::chrono::milliseconds(1000));
  return wait;
}

Expected<Daemon> Daemon::open(const std::string& path) {
  auto client = http::Client::open(path);
  if (client) return Daemon(std::move(*client));
  if (client.error().code != ErrorCode::NotFound) return std::unexpected(client.error());
  return fail(ErrorCode::NotFound, nobody_answers(path, geteuid()));
}

Expected<void> Daemon::stream(const std::string& target,
                              const std::function<bool(std::string_view)>& piece) {
  const auto response = client_.stream("GET", target, piece);
  if (!response) return std::unexpected(response.error());
  if (response->status == 200) return {};
  const auto answer = answer_of(*response);
  if (!answer) return std::unexpected(answer.error());
  return fail(ErrorCode::BadData, target + ": berthd answers " + std::to_string(response->status));
}

Expected<Json> Daemon::ask(std::string_view method, const std::string& target, std::string body) {
  const auto response = client_.request(method, target, std::move(body));
  if (!response) return std::unexpected(response.error());
  return method == "POST" ? answer_to_post(target, *response) : answer_of(*response);
}

Expected<Json> answer_to_post(const std::string& target, const http::Response& response) {
  auto answer = answer_of(response);
  if (answer) return answer;
  return fail(answer.error().code, in_options(target, answer.error().message));
}

Expected<Json> answer_of(const http::Response& response) {
  auto json = parse_json(response.body);
  if (response.status >= 200 && response.status < 300) {
    if (json && json->is_object()) return std::move(*json);
    return fail(ErrorCode::BadData, "berthd answers with something that is not a JSON object");
  }
  const std::string said = json ? text_of(*json, "error") : "";
  const std::string plain = "berthd answers with status " + std::to_string(response.status);
  return fail(code_of(response.status), said.empty() ? plain : said);
}

std::string job_target(std::uint64_t job, std::string_view rest) {
  return "/v1/jobs/" + std::to_string(job) + std::string(rest);
}

std::string job_target(const std::string& handle, std::string_view rest) {
  return "/v1/jobs/" + http::escape(handle) + std::string(rest);
}

bool has_ended(const Json& job) {
  constexpr std::array states = {"done", "failed", "oom", "cancelled", "timeout", "lost"};
  return std::ranges::find(states, text_of(job, "state")) != states.end();
}

int exit_code_of(const Json& job) {
  if (const auto code = integer_of(job, "exit_code"); code && *code >= 0 && *code <= 255) {
    return static_cast<int>(*code);
  }
  const std::string state = text_of(job, "state");
  if (state == "done") return 0;
  if (state == "oom") return 77;
  if (state == "timeout") return 124;
  if (state == "cancelled") return 137;
  return state == "failed" ? 1 : 125;
}

}  // namespace berth::cli
