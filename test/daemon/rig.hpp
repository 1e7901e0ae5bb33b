// A real berthd on emulated GPUs in a folder of its own, as tests use and abuse it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time.hpp"
#include "daemon/loop/json_text.hpp"  // its Json comes first: clang sees shadows
#include "support/process.hpp"

namespace berth::test {

using Json = nlohmann::json;

inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;
inline constexpr uid_t kNobody = 65534;
/// A hundred of them run at once on any machine: they mostly sleep.
inline const Json kNoGpus = {{"gpus", 0}, {"vram_bytes", nullptr}, {"cpus", 0.01}};
/// Ends with 3 once there is a file `go` in its directory.
inline constexpr const char* kUntilGo = "while [ ! -e go ]; do sleep 0.01; done; exit 3";
inline constexpr int kFailed = 125;  ///< Of `berth` and `berthd`.

/// Wishes for so much GPU memory, and for a time limit in seconds unless it is 0.
Json vram(std::int64_t gib, int time_limit = 0);
/// kNoGpus, and these wishes.
Json without_gpus(const Json& more);

struct RigOptions {
  std::string gpus = "2x24GiB";
  std::string config = "probe = \"100ms\"\ngrace = \"500ms\"\n";  ///< TOML.
  std::vector<std::string> flags;
  std::string state = "";  ///< Else a folder of the rig's own.
  bool watches_turns = true;
};

/// The most that a turn of the engine's thread may take of a processor: 20 ms, and more in builds
/// of berthd that are slow by themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr Duration kLongTurn = Duration(400'000);
#elif defined(NDEBUG)
inline constexpr Duration kLongTurn = Duration(20'000);
#else
inline constexpr Duration kLongTurn = Duration(100'000);
#endif

/// What a test asks for beside the command.
struct Wish {
  std::vector<std::string> command;
  Json more = Json::object();  ///< Keys of POST /v1/jobs.
};

class Rig {
 public:
  explicit Rig(RigOptions options = {});
  ~Rig();  ///< Ends the daemon, every job and every shim.

  /// Starts berthd and waits until it answers.
  void start(const std::vector<std::string>& more_flags = {});
  /// Starts it where it is not expected to answer; stop() or kill() ends it.
  void start_without_waiting();
  /// Starts it where it is expected to refuse. Returns: its exit code and what it said.
  Ran start_refused(const std::vector<std::string>& more_flags = {});
  void kill();  ///< SIGKILL, and waits for its end.
  /// SIGTERM. Returns: its exit code.
  int stop();
  bool is_up() const { return pid_ > 0; }

  struct Answer {
    int status = 0;
    Json body;
  };
  /// One request; fails the test without an answer. Waits out a daemon that is being started.
  Answer request(const std::string& method, const std::string& target, const Json& body = {});
  std::string text(const std::string& target);

  /// Submits `command` from the rig's folder with PATH as environment. Returns: the id.
  int submit(const Wish& wish);
  int submit(const std::string& script, const Json& more = Json::object());
  Json job(int id);
  std::string log(int id);
  /// Waits until the job has this state; fails the test when it cannot get there any more.
  Json wait_for(int id, const std::string& state);
  /// Waits until it has ended.
  Json wait_end(int id);

  const ScratchFolder& folder() const { return folder_; }
  std::string state() const { return options_.state.empty() ? folder_ / "state" : options_.state; }
  std::string socket() const { return folder_ / "s"; }
  std::string journal() const { return state() + "/journal.db"; }
  /// The shim of a job's attempt, out of its attempt file.
  pid_t shim_of(int id, int attempt = 1);
  /// Of the engine's thread so far; nothing from a daemon that does not answer.
  struct Turns {
    Duration longest;
    int long_ones = 0;
  };
  std::optional<Turns> turns() const;
  /// What a process outside needs to see the emulated GPUs.
  std::vector<std::string> outside_environment() const;

 private:
  void watch_turns() const;
  std::vector<std::string> arguments(const std::vector<std::string>& more_flags) const;

  ScratchFolder folder_;
  RigOptions options_;
  pid_t pid_ = -1;
  std::chrono::steady_clock::time_point began_ = {};
};

/// Does something in a process of another user, whose groups are its own alone; only root can.
/// Returns: the exit code, what `work` returns; -1 if there was none.
int as_user(uid_t user, const std::function<int()>& work);
/// Whether root may be other users, and these run programs of this build: not where it lies in a
/// home that is closed to them.
bool others_run_programs();
inline constexpr const char* kNeedsOthers =
    "needs root, and a build that other users may reach: not below /root";

/// One request by a process of another user. The body of an answer that is not JSON is its text.
Rig::Answer request_as(const Rig& rig, uid_t user, const std::string& method,
                       const std::string& target, const Json& body = {});

/// Where a job is on the socket.
std::string path(int id, const std::string& rest = "");
/// The daemon's process, as it says.
pid_t pid_of(Rig& rig);
/// A command that takes memory of a GPU: berth-load.
std::string load(const std::string& arguments);
/// A file's bytes; "" if there is none.
std::string slurp(const std::string& path);

/// Makes the journal say that it is of this schema.
void set_schema(const std::string& path, int schema);

/// Asks again until it is true, for a generous while; fails the test otherwise.
void eventually(const std::string& what, const std::function<bool()>& holds);

/// True while there is a process with this id that is not a zombie.
bool is_alive(pid_t pid);

}  // namespace berth::test
