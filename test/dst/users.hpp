// Users: they submit, change their minds, and ask again until they are
// answered.
#pragma once

#include <functional>
#include <list>

#include "dst/daemon.hpp"
#include "dst/world.hpp"

namespace berth::dst {

class Users {
 public:
  /// `daemon`: the one that lives, or null.
  Users(World& world, std::function<Daemon*()> daemon);

  /// Nobody will answer what was asked.
  void daemon_died();
  /// Somebody wants this stranger to be a job, if it still can be.
  void adopt(pid_t pid);
  /// Lets go of what is held, be it a job whose number its user was never told.
  void release_all();
  bool are_content() const { return wishes_.empty() && accepted_ == world_.plan.scripts.size(); }

 private:
  struct Wish {
    std::function<Asked()> make;
    std::function<void(JobId)> granted;
    bool waits = false;  ///< For an answer.
    Life life = new_life();
  };
  using WishId = std::list<Wish>::iterator;

  void wish(std::function<Asked()> make, std::function<void(JobId)> granted);
  void ask(WishId wish);
  void ask_again(WishId wish);
  void submit(std::size_t script);
  void on_accepted(JobId job, std::size_t script);
  void change_mind(JobId job);
  void tell(Input input, std::function<void(JobId)> granted);

  World& world_;
  std::function<Daemon*()> daemon_;
  std::list<Wish> wishes_;
  std::size_t accepted_ = 0;  ///< Of the scripts.
};

}  // namespace berth::dst
