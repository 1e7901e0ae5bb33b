// Finds losses of a journal before it is written to, so that every loss is reported.
//
// Its functions are called in this order, each before its subject could change. Only this level's
// store.cpp uses it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "journal/mark.hpp"
#include "journal/sqlite.hpp"
#include "journal/store.hpp"

namespace berth::journal {

class Check {
 public:
  Check(std::string path, Loss loss) : path_(std::move(path)), loss_(loss) {}

  /// Reads the mark; finds a file that is gone. Before the file is made.
  Expected<void> begin();
  /// Finds one that is older than its log. Before a statement is run: the first reads the log.
  Expected<void> file(const Connection& db);
  /// Finds entries of the log that cannot be read. Before the log is written.
  Expected<void> log(const Connection& db, int log);
  /// Finds pages that do not belong together, in a file small enough for it. Before it is written.
  Expected<void> structure(const Connection& db);
  /// Repairs what can be repaired and names the rest. After the upgrade.
  Expected<void> mend(const Connection& db);

  const std::optional<Mark>& mark() const { return mark_; }
  /// Messages for the administrator, a line each.
  std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  Expected<void> lose(const std::string& what);
  Expected<void> move_log_aside();

  std::string path_;
  Loss loss_;
  std::optional<Mark> mark_{};
  std::vector<std::string> notes_{};
  bool needs_indices_ = false;
  bool is_small_ = false;
};

/// Of the file itself, whatever its log says; 0 for an empty one. It grows with every log.
Expected<std::uint32_t> changes_of_file(const Connection& db);

/// Also of a file without tables.
Expected<Reach> reach_of(const Connection& db);

/// For one that only reads: that the file holds what the mark says. `mark` was read before the
/// file was opened, as a daemon may be writing.
Expected<void> check_to_read(const Connection& db, const std::optional<Mark>& mark);

}  // namespace berth::journal
