// A journal made by hand or by an engine, and SQL on the file behind the store's back.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "engine/history.hpp"
#include "engine/journal.hpp"
#include "journal/store.hpp"

namespace berth::test {

/// The value, or a failed test that says the error; then a default.
template <class T>
T need(Expected<T> value) {
  if (value) return std::move(*value);
  ADD_FAILURE() << value.error().message;
  return T{};
}
inline void need(const Expected<void>& done) {
  if (!done) ADD_FAILURE() << done.error().message;
}
inline journal::Store need_store(const std::string& path,
                                 journal::Access access = journal::Access::ReadWrite) {
  auto store = journal::Store::open(path, access);
  if (!store) throw std::runtime_error(store.error().message);  // fails the test
  return std::move(*store);
}

/// A connection of SQLite's own, as an administrator or a bug would have one.
class Sql {
 public:
  explicit Sql(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &raw_), SQLITE_OK) << path;
  }
  ~Sql() { sqlite3_close(raw_); }
  Sql(const Sql&) = delete;
  Sql& operator=(const Sql&) = delete;

  void run(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(raw_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(raw_) << " in " << sql;
  }
  /// The last column of each row, with line ends between.
  std::string value(const std::string& sql) {
    std::string found;
    const auto keep = [](void* into, int columns, char** texts, char**) {
      auto& all = *static_cast<std::string*>(into);
      if (!all.empty()) all += "\n";
      if (texts[columns - 1] != nullptr) all += texts[columns - 1];
      return 0;
    };
    sqlite3_exec(raw_, sql.c_str(), keep, &found, nullptr);
    return found;
  }

 private:
  sqlite3* raw_ = nullptr;
};

/// Everything in `work` in one transaction.
template <class Work>
void in_transaction(journal::Store& store, Work work) {
  need(store.begin());
  work();
  need(store.commit());
}

inline journal::Snapshot plain_snapshot(std::int64_t after, std::string state = "state") {
  return {.after = after, .policy = "fifo", .place = "first-fit", .build = "1", .state = state};
}

/// Runs `work` in a process of its own, which never closes what it opened. Returns: how it ended,
/// as waitpid tells it.
inline int in_child(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

/// An engine with a random past that is journaled as a daemon does it.
class Journaled {
 public:
  Journaled(const std::string& path, std::string policy, std::uint64_t seed)
      : policy_(std::move(policy)), store_(need_store(path)), history_(policy_, seed) {
    snapshot();
  }

  journal::Store& store() { return store_; }
  std::int64_t entries() const { return entry_; }
  std::int64_t inputs() const { return inputs_; }

  void go_on(int steps) {
    for (; steps > 0; --steps) step();
  }
  void step() {
    const std::vector<Input> inputs = begin_step();
    const Effects& effects = history_.step(inputs);
    in_transaction(
        store_, [&] { need(store_.add_decisions(entry_, encode_decisions(effects.decisions))); });
  }
  /// Journals the inputs; a crash comes before the decisions.
  std::vector<Input> begin_step() {
    std::vector<Input> inputs = history_.next();
    inputs_ += std::ssize(inputs);
    in_transaction(
        store_, [&] { need(store_.add_inputs(++entry_, history_.now(), encode_inputs(inputs))); });
    return inputs;
  }
  void snapshot() {
    in_transaction(store_, [&] {
      need(store_.add_snapshot({.after = entry_,
                                .policy = policy_,
                                .place = "first-fit",
                                .build = "0.1.0",
                                .continuity = journal::Continuity::Same,
                                .state = history_.engine().save()}));
    });
  }
  History& history() { return history_; }

 private:
  std::string policy_;
  journal::Store store_;
  History history_;
  std::int64_t entry_ = 0;
  std::int64_t inputs_ = 0;
};

}  // namespace berth::test
