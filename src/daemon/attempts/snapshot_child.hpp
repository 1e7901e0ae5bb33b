// The engine's state, written by a child process: it has the memory of the moment it was forked,
// whatever the engine does meanwhile.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "live/ports.hpp"
#include "posix/descriptor.hpp"

namespace berth::daemon {

class SnapshotChild : public live::StateCopy {
 public:
  /// Errors: Io if there is no room for a process or its file.
  static Expected<std::unique_ptr<SnapshotChild>> begin(const Engine& engine);
  ~SnapshotChild() override;
  SnapshotChild(const SnapshotChild&) = delete;
  SnapshotChild& operator=(const SnapshotChild&) = delete;

  Progress look() override;
  std::int64_t size() const override { return size_; }
  Expected<std::string> read(std::int64_t offset, std::size_t most) const override;

 private:
  SnapshotChild(pid_t child, Descriptor file) : child_(child), file_(std::move(file)) {}

  pid_t child_;  ///< -1 once it has ended.
  Descriptor file_;
  std::int64_t size_ = 0;
  bool is_whole_ = false;
};

}  // namespace berth::daemon
