// The audit log: every request that changes something, with who asked and what came of it, as one
// line of JSON; and the same as fields of the system's journal where there is one. doc/audit.md.
//
// Thread-safe. A line is written with one call before the answer is sent; a log that cannot be
// written holds nothing up and is told once on standard error.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "daemon/loop/processes.hpp"
#include "http/server.hpp"
#include "posix/descriptor.hpp"

namespace berth::daemon {

struct AuditOptions {
  std::string path;
  Bytes cap{std::int64_t{64} << 20};  ///< Of both files together: the older is dropped.
  std::string journal;                ///< Socket of journald; "" for none.
};

class Audit {
 public:
  explicit Audit(AuditOptions options);

  struct Record {
    http::Peer peer;
    std::string request;          ///< `POST /v1/jobs/7/cancel`.
    std::string asked;            ///< The body; "" where it holds an environment.
    std::optional<UserId> owner;  ///< Of the job.
    int status = 200;             ///< Of the answer.
    std::string answer;           ///< Its body.
  };
  void add(const Record& record);
  /// What berthd did by itself, or was told by a signal.
  void add(const std::string& what, const std::string& outcome);

 private:
  void write(const std::string& line, const std::string& message);
  void open();
  bool is_in_place() const;
  void tell_journal(const std::string& line, const std::string& message);

  const AuditOptions options_;
  std::mutex mutex_;  // of all below
  UserNames names_;
  Descriptor file_;
  Descriptor journal_;
  std::int64_t size_ = 0;
  bool has_failed_ = false;
};

/// The request with a line in the audit log once it is answered. Requires: `audit` outlives it.
std::shared_ptr<http::Exchange> audited(std::shared_ptr<http::Exchange> exchange, Audit& audit);
/// Names the owner of the job that the request is about; on requests that are not audited nothing.
void note_owner(http::Exchange& exchange, UserId owner);

}  // namespace berth::daemon
