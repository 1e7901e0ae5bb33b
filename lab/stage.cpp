#include "lab/stage.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "http/client.hpp"

namespace berth::lab {

namespace {

namespace fs = std::filesystem;

constexpr uid_t kFirstUser = 20'001;  ///< Of a run's users; no account is needed.
constexpr int kMostUsers = 32;        ///< Whose jobs are ended when a run is given up.
constexpr int kPatience = 100;        ///< Tenths of a second.

std::unexpected<Error> io_error(const std::string& what) {
  return fail(ErrorCode::Io, what + ": " + std::strerror(errno));
}

void wait_a_tenth() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

/// What a connection is made as is what its peer sees of us for good.
class AsUser {
 public:
  explicit AsUser(int user) : is_other_(user >= 0 && ::geteuid() == 0) {
    const uid_t id = kFirstUser + static_cast<uid_t>(std::max(user, 0));
    if (is_other_ && (::setegid(id) != 0 || ::seteuid(id) != 0)) is_other_ = false;
  }
  ~AsUser() {
    if (!is_other_) return;
    if (::seteuid(0) != 0 || ::setegid(0) != 0) std::abort();
  }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;

 private:
  bool is_other_;
};

}  // namespace

Expected<Stage> Stage::open() {
  std::string folder = (fs::temp_directory_path() / "berth-eval-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return io_error(folder);
  Stage stage(folder);
  if (::chmod(folder.c_str(), 0755) != 0) return io_error(folder);
  std::error_code failed;
  const fs::path own = fs::read_symlink("/proc/self/exe", failed).parent_path();
  fs::create_directories(folder + "/bin", failed);
  for (const char* name : {"berthd", "berth-shim", "berth-load"}) {
    fs::copy_file(own / name, stage.program(name), failed);
    if (failed) return fail(ErrorCode::Io, (own / name).string() + ": " + failed.message());
  }
  fs::copy(own / "../emu", folder + "/emu", fs::copy_options::recursive, failed);
  if (failed) return fail(ErrorCode::Io, (own / "../emu").string() + ": " + failed.message());
  fs::create_directories(stage.work(), failed);
  ::chmod(stage.work().c_str(), 01777);
  return stage;
}

Stage::~Stage() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Expected<Berthd> Berthd::start(const Stage& stage, const DaemonOptions& options) {
  static int number = 0;
  const std::string state =
      stage.folder() + "/state-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
  std::ofstream(state + ".toml") << "probe = \"200ms\"\ngrace = \"500ms\"\n";
  std::vector<std::string> words = {stage.program("berthd"),
                                    "--state",
                                    state,
                                    "--socket",
                                    state + ".socket",
                                    "--config",
                                    state + ".toml",
                                    "--policy",
                                    options.policy,
                                    "--admission",
                                    options.admission};
  if (!options.gpus.empty()) words.insert(words.end(), {"--emulate", options.gpus});
  if (!options.place.empty()) words.insert(words.end(), {"--place", options.place});
  if (options.gpus.empty() && options.admission != "guarantee") words.emplace_back("--unsafe");
  Berthd daemon(std::move(words), state);
  if (auto done = daemon.begin(); !done) return std::unexpected(done.error());
  return daemon;
}

Expected<void> Berthd::begin() {
  std::vector<char*> pointers;
  for (std::string& word : words_) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::string log = state_ + ".log";
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  const int refused =
      ::posix_spawn(&pid_, pointers[0], &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (refused != 0) {
    pid_ = -1;
    return fail(ErrorCode::Io, words_[0] + ": " + std::strerror(refused));
  }
  for (int i = 0; i < kPatience; ++i) {
    if (get("/v1/version")) return {};
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      break;
    }
    wait_a_tenth();
  }
  std::string said;
  std::getline(std::ifstream(log), said);
  return fail(ErrorCode::Io, "berthd does not answer; it said: " + said);
}

Expected<void> Berthd::kill_and_start_again() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  return begin();
}

Berthd::~Berthd() {
  if (pid_ < 0) return;
  end_jobs();
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

/// Whoever's they are: each user can end all of theirs.
void Berthd::end_jobs() const {
  const auto any_left = [&] {
    const auto jobs = get("/v1/jobs");
    return jobs && !jobs->at("jobs").empty();
  };
  if (!any_left()) return;
  for (int user = -1; user < kMostUsers; ++user)
    static_cast<void>(post("/v1/cancel", Json::object(), user));
  for (int i = 0; i < kPatience && any_left(); ++i) wait_a_tenth();
}

Expected<Json> Berthd::ask(const char* method, const std::string& target, const std::string& body,
                           int user) const {
  auto client = [&] {
    const AsUser as(user);
    return http::Client::open(socket());
  }();
  if (!client) return std::unexpected(client.error());
  const auto response = client->request(method, target, body);
  if (!response) return std::unexpected(response.error());
  Json json = Json::parse(response->body, nullptr, false);
  if (response->status < 300 && !json.is_discarded()) return json;
  return fail(ErrorCode::BadData, std::string(method) + " " + target + ": " + response->body);
}

Expected<Json> Berthd::get(const std::string& target) const { return ask("GET", target, "", -1); }

Expected<Json> Berthd::post(const std::string& target, const Json& body, int user) const {
  return ask("POST", target, body.dump(), user);
}

}  // namespace berth::lab
