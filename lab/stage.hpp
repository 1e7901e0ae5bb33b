// A berthd of its own for one run, with programs that every user may execute.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace berth::lab {

using Json = nlohmann::json;

/// The programs and libraries of this build, copied to a folder that jobs of other users can read.
class Stage {
 public:
  static Expected<Stage> open();
  Stage(Stage&& other) noexcept : folder_(std::exchange(other.folder_, "")) {}
  Stage& operator=(Stage&&) = delete;
  ~Stage();  ///< Removes the folder.

  const std::string& folder() const { return folder_; }
  std::string work() const { return folder_ + "/work"; }  ///< Where anybody may write.
  std::string program(const std::string& name) const { return folder_ + "/bin/" + name; }

 private:
  explicit Stage(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

struct DaemonOptions {
  std::string gpus = "2x24GiB";  ///< Emulated ones; "" for the machine's.
  std::string admission = "guarantee";
  std::string policy = "headroom";
  std::string place;  ///< "" for berthd's own.
};

/// A running berthd. Ends it, its jobs and its state when it goes.
class Berthd {
 public:
  static Expected<Berthd> start(const Stage& stage, const DaemonOptions& options);
  Berthd(Berthd&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        words_(std::move(other.words_)),
        state_(std::move(other.state_)) {}
  Berthd& operator=(Berthd&&) = delete;
  ~Berthd();

  /// As one of the run's users (counted from 0); -1 for the caller. Only root can be other users;
  /// otherwise all are the caller.
  Expected<Json> get(const std::string& target) const;
  Expected<Json> post(const std::string& target, const Json& body, int user) const;
  const std::string& state() const { return state_; }
  /// Kills it as the kernel would, and starts it again on what it left. Errors: Io.
  Expected<void> kill_and_start_again();

 private:
  Berthd(std::vector<std::string> words, std::string state)
      : words_(std::move(words)), state_(std::move(state)) {}
  Expected<void> begin();
  Expected<Json> ask(const char* method, const std::string& target, const std::string& body,
                     int user) const;
  std::string socket() const { return state_ + ".socket"; }
  void end_jobs() const;

  pid_t pid_ = -1;
  std::vector<std::string> words_;  ///< Its command.
  std::string state_;
};

}  // namespace berth::lab
