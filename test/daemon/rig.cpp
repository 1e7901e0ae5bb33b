#include "daemon/rig.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "http/client.hpp"
#include "journal/sqlite.hpp"
#include "support/environment.hpp"
#include "support/paths.hpp"

namespace berth::test {

namespace {

constexpr int kPatience = 20'000;  ///< Milliseconds; only a broken daemon takes so long.

void pause_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

pid_t spawn(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(failed, 0) << words[0];
  return failed == 0 ? pid : -1;
}

bool has_ended(const std::string& state) {
  for (const char* word : {"done", "failed", "oom", "cancelled", "timeout", "lost"}) {
    if (state == word) return true;
  }
  return false;
}

/// Everything with the rig's folder on its command line or in its environment.
std::vector<pid_t> processes_of(const std::string& folder) {
  std::vector<pid_t> pids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string told = slurp(entry.path() / "cmdline") + slurp(entry.path() / "environ");
    if (told.find(folder) != std::string::npos) pids.push_back(std::stoi(name));
  }
  return pids;
}

}  // namespace

Json vram(std::int64_t gib, int time_limit) {
  Json wish{{"vram_bytes", gib * kGiB}};
  if (time_limit > 0) wish["time_limit_seconds"] = time_limit;
  return wish;
}

Json without_gpus(const Json& more) {
  Json wish = kNoGpus;
  wish.update(more);
  return wish;
}

void eventually(const std::string& what, const std::function<bool()>& holds) {
  for (int waited = 0; waited < kPatience; waited += 2) {
    if (holds()) return;
    pause_a_little();
  }
  ADD_FAILURE() << "never: " << what;
}

int as_user(uid_t user, const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_user = ::setgroups(0, nullptr) == 0 && ::setresgid(user, user, user) == 0 &&
                         ::setresuid(user, user, user) == 0;
    ::_exit(is_user ? work() : 255);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool others_run_programs() {
  if (::geteuid() != 0) return false;
  const std::string one = program("berth-load").string();
  return as_user(kNobody, [&] { return ::access(one.c_str(), X_OK) == 0 ? 0 : 1; }) == 0;
}

Rig::Answer request_as(const Rig& rig, uid_t user, const std::string& method,
                       const std::string& target, const Json& body) {
  const std::string answers = rig.folder() / "answer";
  const int file = ::open(answers.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const auto ask = [&] {
    auto client = http::Client::open(rig.socket());
    if (!client) return 2;
    const auto answer = client->request(method, target, body.is_null() ? "" : body.dump());
    if (!answer) return 3;
    const std::string text = std::to_string(answer->status) + " " + answer->body;
    return ::write(file, text.data(), text.size()) == std::ssize(text) ? 0 : 4;
  };
  EXPECT_EQ(as_user(user, ask), 0) << "as uid " << user;
  ::close(file);
  const std::string text = slurp(answers);
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return {};
  const std::string rest = text.substr(space + 1);
  Json parsed = Json::parse(rest, nullptr, false);
  return {std::stoi(text), parsed.is_discarded() ? Json(rest) : parsed};
}

std::string path(int id, const std::string& rest) {
  return "/v1/jobs/" + std::to_string(id) + rest;
}

pid_t pid_of(Rig& rig) { return rig.request("GET", "/v1/version").body["pid"]; }

std::string load(const std::string& arguments) {
  return program("berth-load").string() + " " + arguments;
}

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void set_schema(const std::string& path, int schema) {
  const auto db = journal::Connection::open(path, SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(db) << db.error().message;
  const auto done = db->run(("PRAGMA user_version = " + std::to_string(schema)).c_str());
  EXPECT_TRUE(done) << done.error().message;
}

bool is_alive(pid_t pid) {
  const std::string stat = slurp("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end = stat.rfind(')');
  return end != std::string::npos && stat[end + 2] != 'Z' && stat[end + 2] != 'X';
}

Rig::Rig(RigOptions options) : options_(std::move(options)) {
  folder_.write("berth.toml", options_.config);
}

Rig::~Rig() {
  watch_turns();
  if (is_up()) kill();
  // What berthd said, a sanitizer's report among it, is gone with the folder.
  if (::testing::Test::HasFailure()) {
    std::cerr << "berthd said:\n" << slurp(folder_ / "daemon.log") << std::flush;
  }
  for (int left = 1; left > 0;) {
    left = 0;
    for (const pid_t pid : processes_of(folder_.path().string() + "/")) {
      if (pid != getpid() && ::kill(pid, SIGKILL) == 0 && is_alive(pid)) ++left;
    }
    const std::string shims = state() + "/attempts";
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(shims, ignored)) {
      int shim = 0;
      if (sscanf(slurp(entry.path()).c_str(), "%*[^\n]\n%*[^\n]\nshim %d", &shim) == 1 &&
          is_alive(shim)) {
        ::kill(shim, SIGKILL);
        ++left;
      }
    }
    if (left > 0) pause_a_little();
  }
}

std::vector<std::string> Rig::arguments(const std::vector<std::string>& more_flags) const {
  std::vector<std::string> words = {
      program("berthd").string(), "--state", state(), "--socket", socket(), "--config",
      folder_ / "berth.toml"};
  if (!options_.gpus.empty()) words.insert(words.end(), {"--emulate", options_.gpus});
  words.insert(words.end(), options_.flags.begin(), options_.flags.end());
  words.insert(words.end(), more_flags.begin(), more_flags.end());
  return words;
}

void Rig::start(const std::vector<std::string>& more_flags) {
  ASSERT_FALSE(is_up());
  pid_ = spawn(arguments(more_flags), folder_ / "daemon.log");
  began_ = std::chrono::steady_clock::now();
  eventually("berthd answers: " + slurp(folder_ / "daemon.log"), [&] {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      ADD_FAILURE() << "berthd ended: " << slurp(folder_ / "daemon.log");
      pid_ = -1;
      return true;
    }
    auto client = http::Client::open(socket());
    return client && client->request("GET", "/v1/version");
  });
}

void Rig::start_without_waiting() {
  ASSERT_FALSE(is_up());
  pid_ = spawn(arguments({}), folder_ / "daemon.log");
  began_ = std::chrono::steady_clock::now();
}

Ran Rig::start_refused(const std::vector<std::string>& more_flags) {
  const std::string log = folder_ / "refused.log";
  const pid_t pid = spawn(arguments(more_flags), log);
  int status = 0;
  waitpid(pid, &status, 0);
  Ran ran{.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = "",
          .err = slurp(log)};
  std::filesystem::remove(log);
  return ran;
}

void Rig::kill() {
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::optional<Rig::Turns> Rig::turns() const {
  auto client = http::Client::open(socket(), seconds(5));
  const auto answer = client ? client->request("GET", "/metrics") : std::unexpected(client.error());
  if (!answer) return std::nullopt;  // it hangs, as the test wants it
  const auto sample = [&](const std::string& name) -> std::optional<double> {
    const std::size_t at = answer->body.find("\n" + name + " ");
    if (at == std::string::npos) return std::nullopt;
    return std::stod(answer->body.substr(at + name.size() + 2));
  };
  const auto longest = sample("berth_turn_work_longest_seconds");
  const auto long_ones = sample("berth_turns_long_total");
  if (!longest || !long_ones) return std::nullopt;
  return Turns{.longest = Duration(std::llround(*longest * 1e6)),
               .long_ones = static_cast<int>(*long_ones)};
}

/// A busy machine does not count, a slow build and a machine that is so many times slower (which
/// BERTH_SLOWNESS says) do. A hypervisor takes a thread's time without telling: one turn, and one
/// more in each minute, may have had twice as long.
void Rig::watch_turns() const {
  if (!is_up() || !options_.watches_turns) return;
  const auto seen = turns();
  if (!seen) return;
  const Duration usual = kLongTurn * static_cast<int>(test::number_of("BERTH_SLOWNESS", 1));
  const auto life = std::chrono::steady_clock::now() - began_;
  const auto forgiven = 1 + std::chrono::floor<std::chrono::minutes>(life).count();
  const Duration most = seen->long_ones <= forgiven ? 2 * usual : usual;
  EXPECT_LE(micros(seen->longest), micros(most))
      << "us of a processor in one turn of the engine's thread, which serves everybody; "
      << seen->long_ones << " took more than 20 ms";
}

int Rig::stop() {
  watch_turns();
  ::kill(pid_, SIGTERM);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Rig::Answer Rig::request(const std::string& method, const std::string& target, const Json& body) {
  auto client = http::Client::open(socket());
  if (!client) {
    ADD_FAILURE() << client.error().message << ": " << slurp(folder_ / "daemon.log");
    return {};
  }
  const auto response = client->request(method, target, body.is_null() ? "" : body.dump());
  if (!response) {
    ADD_FAILURE() << response.error().message << ": " << slurp(folder_ / "daemon.log");
    return {};
  }
  return {response->status, Json::parse(response->body, nullptr, false)};
}

std::string Rig::text(const std::string& target) {
  auto client = http::Client::open(socket());
  std::string text;
  if (!client) return text;
  const auto answer = client->stream("GET", target, [&](std::string_view piece) {
    text += piece;
    return true;
  });
  EXPECT_TRUE(answer && answer->status == 200) << target;
  return text;
}

int Rig::submit(const Wish& wish) {
  Json body = {{"command", wish.command},
               {"directory", folder_.path().string()},
               {"environment", {std::string("PATH=") + std::getenv("PATH")}},
               {"vram_bytes", std::int64_t{1} << 30}};
  body.update(wish.more);
  if (body["vram_bytes"].is_null()) body.erase("vram_bytes");
  const Answer answer = request("POST", "/v1/jobs", body);
  EXPECT_EQ(answer.status, 201) << answer.body;
  return answer.status == 201 ? answer.body.at("id").get<int>() : -1;
}

int Rig::submit(const std::string& script, const Json& more) {
  return submit(Wish{{"sh", "-c", script}, more});
}

Json Rig::job(int id) {
  const Answer answer = request("GET", "/v1/jobs/" + std::to_string(id));
  EXPECT_EQ(answer.status, 200) << answer.body;
  return answer.body;
}

std::string Rig::log(int id) { return text("/v1/jobs/" + std::to_string(id) + "/log"); }

Json Rig::wait_for(int id, const std::string& state) {
  Json last;
  eventually("job " + std::to_string(id) + " is " + state, [&] {
    last = job(id);
    return last["state"] == state || has_ended(last["state"]);
  });
  EXPECT_EQ(last["state"], state) << last;
  return last;
}

Json Rig::wait_end(int id) {
  Json last;
  eventually("job " + std::to_string(id) + " ends", [&] {
    last = job(id);
    return has_ended(last["state"]);
  });
  return last;
}

pid_t Rig::shim_of(int id, int attempt) {
  const std::string path =
      state() + "/attempts/" + std::to_string(id) + "." + std::to_string(attempt);
  int shim = -1;
  sscanf(slurp(path).c_str(), "%*[^\n]\n%*[^\n]\nshim %d", &shim);
  return shim;
}

std::vector<std::string> Rig::outside_environment() const {
  std::vector<std::string> variables;
  std::istringstream lines(slurp(state() + "/emu.env"));
  for (std::string line; std::getline(lines, line);) variables.push_back(line);
  return variables;
}

}  // namespace berth::test
