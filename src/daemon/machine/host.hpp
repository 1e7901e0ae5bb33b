// The machine under the journal: room on its disk, a child that copies the state, account names,
// what is left of jobs when berthd starts.
//
// Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "daemon/attempts/oom.hpp"
#include "daemon/loop/processes.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

class Host : public live::Host {
 public:
  /// `path`: the journal. The folder that it is in has those of attempts, logs and what is aside.
  Host(std::string path, std::span<const std::string> oom_words)
      : path_(std::move(path)), oom_words_(oom_words) {}

  /// Room on the disk that has `path`. Errors: Io, also where fewer than kFewestFiles files can be
  /// made, however much room there is: a job needs two at its start.
  static Expected<Bytes> room_near(const std::string& path);
  static constexpr std::uint64_t kFewestFiles = 128;

  Expected<Bytes> free_room() const override { return room_near(path_); }
  Expected<std::unique_ptr<live::StateCopy>> copy(const Engine& engine) override;
  std::string name_of(UserId user) override { return names_.of(user.value()); }
  std::string strangers_on(GpuId gpu) override { return strangers_ ? strangers_(gpu) : ""; }
  void set_strangers(std::function<std::string(GpuId)> strangers) {
    strangers_ = std::move(strangers);
  }
  live::Remains remains_of(const Job& job) override;
  std::string keep_aside(const std::string& name, const std::string& text) override;

 private:
  std::string folder() const { return path_.substr(0, path_.rfind('/')); }

  std::string path_;
  OomWords oom_words_;
  UserNames names_;
  std::function<std::string(GpuId)> strangers_;
};

}  // namespace berth::daemon
