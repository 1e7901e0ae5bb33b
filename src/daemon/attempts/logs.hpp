// Job logs on their way to users: one thread reads files, so that no disk holds the engine up.
#pragma once

#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "http/server.hpp"

namespace berth::daemon {

enum class Follow { No, UntilEnd };

class Logs {
 public:
  /// `folder` holds the logs. Errors: Io.
  static Expected<std::unique_ptr<Logs>> open(const std::string& folder);
  ~Logs();

  /// Answers with the file from `offset` on; with UntilEnd goes on as it grows until ended() names
  /// it. A file that is not there yet is empty. From any thread.
  void send(const std::shared_ptr<http::Exchange>& exchange, const std::string& name,
            std::size_t offset, Follow follow);
  /// Nothing more is written to this file. From any thread.
  void ended(const std::string& name);

 private:
  struct State;
  explicit Logs(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace berth::daemon
