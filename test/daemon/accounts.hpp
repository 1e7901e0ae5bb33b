// Local users of this machine, made for a test, and `berth` as they have it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "daemon/rig.hpp"
#include "support/process.hpp"

namespace berth::test {

/// A group that goes with this, with whom it has. Needs root.
class AccountGroup {
 public:
  explicit AccountGroup(const std::string& name);
  ~AccountGroup();
  AccountGroup(const AccountGroup&) = delete;
  AccountGroup& operator=(const AccountGroup&) = delete;

  const std::string& name() const { return name_; }
  gid_t number() const { return number_; }

 private:
  std::string name_;
  gid_t number_ = 0;
};

/// An account that goes with this. Needs root.
class Account {
 public:
  explicit Account(const std::string& name) : Account(name, nullptr) {}
  /// In this group beside its own.
  Account(const std::string& name, const AccountGroup* group);
  ~Account();
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  /// False where accounts cannot be made.
  bool is_there() const { return user_ != 0; }
  const std::string& name() const { return name_; }
  uid_t user() const { return user_; }
  gid_t group() const { return group_; }
  /// All of its groups, its own among them; ascending.
  const std::vector<gid_t>& groups() const { return groups_; }

 private:
  std::string name_;
  uid_t user_ = 0;
  gid_t group_ = 0;
  std::vector<gid_t> groups_;

  friend class Users;
};

/// Programs, in a folder that every user may enter.
class Users {
 public:
  /// The rig's folder is opened for passing through, and gets a `berth`.
  explicit Users(const Rig& rig);

  /// Runs a shell script as a user, with `berth` in its PATH and the rig's socket in BERTH_SOCKET,
  /// to its end.
  Ran run(const Account& account, const std::string& script) const;
  /// The same with a terminal for its standard streams: all it writes is `out`.
  Ran run_on_terminal(const Account& account, const std::string& script) const;
  /// Submits a script. Returns: its job.
  int submit(const Account& account, const std::string& script,
             const std::string& flags = "--gpus 0") const;
  /// Copies a program there. Returns: its path.
  std::string give(const std::string& path) const;

 private:
  const Rig& rig_;
};

/// As an argument of a shell.
std::string quoted(const std::string& text);

}  // namespace berth::test
