// A machine for keepers under test: as much room as a test says, copies that are there at once.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "live/ports.hpp"

namespace berth::test {

/// A state as it was, in memory.
class CopyInMemory : public live::StateCopy {
 public:
  explicit CopyInMemory(std::string state) : state_(std::move(state)) {}
  Progress look() override { return Progress::Done; }
  std::int64_t size() const override { return std::ssize(state_); }
  Expected<std::string> read(std::int64_t offset, std::size_t most) const override {
    return state_.substr(static_cast<std::size_t>(offset), most);
  }

 private:
  std::string state_;
};

class Host : public live::Host {
 public:
  Expected<Bytes> free_room() const override { return free; }
  Expected<std::unique_ptr<live::StateCopy>> copy(const Engine& engine) override {
    return std::make_unique<CopyInMemory>(engine.save());
  }
  std::string name_of(UserId user) override { return "user" + std::to_string(user.value()); }

  live::Remains remains_of(const Job& job) override {
    const auto found = remains.find(job.id);
    return found == remains.end() ? live::Remains{} : found->second;
  }
  std::string keep_aside(const std::string& name, const std::string& text) override {
    aside[name] = text;
    return "aside/" + name;
  }

  Bytes free{std::int64_t{1} << 40};
  std::map<JobId, live::Remains> remains;    ///< Of others everything lives.
  std::map<std::string, std::string> aside;  ///< By name.
};

}  // namespace berth::test
