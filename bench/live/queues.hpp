// The two queues that are compared: berthd on emulated GPUs, and task-spooler with one slot.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "http/client.hpp"
#include "live/bed.hpp"

namespace berth::bench {

using Json = nlohmann::json;

/// A berthd in a bed, with the settings that it has by itself, or others.
class Berthd {
 public:
  /// Returns once it answers. `gpus` as `--emulate` takes it, settings as TOML. Errors: Io,
  /// Conflict.
  static Expected<Berthd> start(const Bed& bed, const std::string& gpus,
                                const std::string& settings = "");
  /// Sends it a signal that ends it. Returns once it is gone; its jobs go on. Errors: Io.
  Expected<void> end(int signal);

  pid_t pid() const { return pid_; }
  const std::string& socket() const { return socket_; }
  const std::string& state() const { return state_; }
  /// Where the emulated driver's libraries are: what its jobs have in LD_LIBRARY_PATH.
  const std::string& libraries() const { return libraries_; }
  /// The shim of a job's first attempt. Errors: BadData.
  Expected<pid_t> shim_of(int job) const;

  /// Queues a job of 20 GiB of a GPU, or as `more` has it. Returns: its number. Errors: Io,
  /// Conflict.
  Expected<int> submit(const Words& command, const Words& environment,
                       const Json& more = Json::object());
  /// Errors: Io; Conflict for an answer that is not 200.
  Expected<void> post(const std::string& target);
  Expected<Json> get(const std::string& target);

 private:
  Berthd(const Bed& bed, pid_t pid, http::Client client);

  pid_t pid_;
  std::string state_;
  std::string socket_;
  std::string libraries_;
  http::Client client_;
};

/// The program that submits to the berthd of a bed, as a user calls it. `berth`: its path.
Program berth_submit(const Bed& bed, const std::string& berth, const Words& command,
                     Words environment);

/// The program that lists the jobs of the berthd of a bed.
Program berth_ls(const Bed& bed);

/// task-spooler in a bed; its first submit starts its server. "" for `tsp` if it is not installed.
class TaskSpooler {
 public:
  TaskSpooler(const Bed& bed, Words environment);

  /// The program that submits, as a user calls it.
  Program submit(const Words& command) const;
  /// The program that waits until the job submitted last has ended.
  Program wait() const { return {.words = {tsp_, "-w"}, .environment = environment_}; }

 private:
  std::string tsp_;
  Words environment_;
};

/// Keeps a queue waiting: a job that ends when the gate is opened, or when we end.
class Gate {
 public:
  Gate(const Bed& bed, const std::string& name);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  Words job() const { return {"/bin/sh", "-c", "read line <'" + path_ + "'"}; }
  void open() const { pass("\n"); }

  /// In place of job(): writes whatever is passed to it.
  Words copier() const { return {"cat", path_}; }
  void pass(const std::string& text) const;

 private:
  std::string path_;
  int pipe_;
};

}  // namespace berth::bench
