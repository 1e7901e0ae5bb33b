// What of a job is its user's own words, and who sees them: `hide_arguments` in berth.toml. Every
// answer, event and page asks here. doc/audit.md.
#pragma once

#include <string>

#include "core/base/ids.hpp"
#include "core/conditions.hpp"
#include "daemon/settings/roles.hpp"

namespace berth::daemon {

/// What one viewer sees of one user's job.
class Sight {
 public:
  Sight(UserId owner, const Viewer& viewer) : sees_all_(viewer.sees(owner)) {}

  /// Whether arguments, folder, files and keys are shown as they are.
  bool sees_words() const { return sees_all_; }
  /// A command line, or its program alone.
  std::string command(const std::string& line) const;
  /// A job's name, without the values of a sweep's parameters where words are hidden.
  std::string name(const std::string& text, const ArrayPlace& place) const;
  /// A note, unless it can name what the user named: a program, a folder, a file. What berthd
  /// itself did to a job is no secret of its user's.
  std::string note(const std::string& text) const;
  /// A text that the user made up: "" where it is hidden.
  std::string word(const std::string& text) const { return sees_all_ ? text : ""; }

 private:
  bool sees_all_;
};

}  // namespace berth::daemon
