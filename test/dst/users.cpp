#include "dst/users.hpp"

#include <utility>

namespace berth::dst {

Users::Users(World& world, std::function<Daemon*()> daemon)
    : world_(world), daemon_(std::move(daemon)) {
  for (std::size_t i = 0; i < world_.plan.scripts.size(); ++i) {
    world_.agenda.after(world_.plan.scripts[i].submit - kStart, [this, i] { submit(i); });
  }
}

void Users::wish(std::function<Asked()> make, std::function<void(JobId)> granted) {
  wishes_.push_back({.make = std::move(make), .granted = std::move(granted)});
  ask(std::prev(wishes_.end()));
}

void Users::ask(WishId wish) {
  Daemon* const daemon = daemon_();
  if (daemon == nullptr) return ask_again(wish);
  Asked asked = wish->make();
  wish->waits = true;
  asked.answer = [this, wish](Answer answer, JobId job) {
    if (answer == Answer::Refused) return ask_again(wish);
    const auto granted = std::move(wish->granted);
    wishes_.erase(wish);
    granted(job);
  };
  daemon->ask(std::move(asked));
}

void Users::ask_again(WishId wish) {
  wish->waits = false;
  world_.agenda.after(Duration(world_.rng.between(500'000, 5'000'000)), wish->life,
                      [this, wish] { ask(wish); });
}

void Users::daemon_died() {
  for (auto wish = wishes_.begin(); wish != wishes_.end(); ++wish) {
    if (wish->waits) ask_again(wish);
  }
}

void Users::submit(std::size_t script) {
  wish(
      [this, script] {
        const Script& job = world_.plan.scripts[script];
        live::Submission submission{.spec = job.spec, .held = job.held};
        submission.command.arguments = {"script", std::to_string(script)};
        submission.command.directory = "/";
        submission.environment = live::encode_environment({"A=1"});
        return Asked{.submission = std::move(submission), .inputs = {}, .answer = {}};
      },
      [this, script](JobId job) { on_accepted(job, script); });
}

/// Asked for once: a daemon that dies meanwhile does not know of it, or has it in its journal.
void Users::adopt(pid_t pid) {
  Daemon* const daemon = daemon_();
  std::vector<AdoptedShare> shares = world_.machines.held_by_stranger(pid);
  if (daemon == nullptr || shares.empty()) return;
  live::Submission job;
  job.spec.user = UserId(1000);
  job.spec.request.gpu.count = GpuCount(std::ssize(shares));
  job.spec.request.gpu.vram = Bytes(1 << 20);
  job.spec.conditions.edit().adopted = true;
  job.command.arguments = {"stranger"};
  job.command.directory = "/";
  job.command.adopted = shim::Process{.pid = pid, .start = 1};
  job.environment = live::encode_environment({});
  job.adopted = std::move(shares);
  ++world_.seen["adoption asked for"];
  daemon->ask({.submission = std::move(job), .inputs = {}, .answer = [](Answer, JobId) {}});
}

void Users::on_accepted(JobId job, std::size_t script) {
  ++accepted_;
  world_.report.tell("job " + std::to_string(job.value()) + " is accepted");
  world_.checker.accepted(job, script);
  if (world_.plan.scripts[script].held) {
    world_.agenda.after(seconds(world_.rng.between(0, 100)),
                        [this, job] { tell(ReleaseAsked{job}, [](JobId) {}); });
  }
  if (!world_.has(&Troubles::second_thoughts) || !world_.rng.one_in(2)) return;
  world_.agenda.after(Duration(world_.rng.between(0, 120'000'000)), [this, job] {
    if (!world_.is_calm) change_mind(job);
  });
}

void Users::tell(Input input, std::function<void(JobId)> granted) {
  wish([input =
            std::move(input)] { return Asked{.submission = {}, .inputs = {input}, .answer = {}}; },
       std::move(granted));
}

void Users::change_mind(JobId job) {
  const std::int64_t what = world_.rng.between(0, 4);
  if (what == 0) {
    ++world_.seen["cancel"];
    return tell(CancelAsked{job}, [this, job](JobId) { world_.checker.cancelled(job); });
  }
  if (what == 1) {
    tell(HoldAsked{job}, [](JobId) {});
    return world_.agenda.after(seconds(world_.rng.between(0, 60)),
                               [this, job] { tell(ReleaseAsked{job}, [](JobId) {}); });
  }
  const char* const key = what == 2 ? "loss" : "done";
  tell(Reported{job, key, world_.rng.between(0, 9)}, [](JobId) {});
}

void Users::release_all() {
  const Daemon* const daemon = daemon_();
  if (daemon == nullptr) return;
  daemon->engine().view().for_each_job([&](const Job& job) {
    if (job.state == JobState::Held) tell(ReleaseAsked{job.id}, [](JobId) {});
  });
}

}  // namespace berth::dst
