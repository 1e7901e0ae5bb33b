// All that is there while a seed runs, daemons apart: they come and go.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dst/agenda.hpp"
#include "dst/checker.hpp"
#include "dst/disk.hpp"
#include "dst/fate.hpp"
#include "dst/machines.hpp"
#include "dst/plan.hpp"
#include "dst/report.hpp"

namespace berth::dst {

struct World {
  World(const Plan& its_plan, Defect its_defect)
      : plan(its_plan),
        defect(its_defect),
        rng(its_plan.seed, 1),
        report(agenda),
        fate(report),
        disk(fate),
        machines(plan, agenda, report, Rng(its_plan.seed, 2)),
        checker(plan, machines, report) {
    if (defect == Defect::DiskLies) disk.lie();
  }

  bool has(bool Troubles::* kind) const { return !is_calm && plan.troubles.*kind; }
  /// How long a word is under way.
  Duration delay() {
    const bool late = has(&Troubles::late_news) && rng.one_in(6);
    return Duration(late ? rng.between(0, 20'000'000) : rng.between(50, 2'000));
  }
  Duration boot_time() const { return agenda.now() - booted; }
  Instant wall() const { return agenda.now() + wall_ahead; }

  const Plan plan;
  const Defect defect;
  Rng rng;
  Agenda agenda;
  Report report;
  Fate fate;
  Disk disk;
  Machines machines;
  Checker checker;
  Instant booted = kStart;
  Duration wall_ahead{0};              ///< Of the world's time; jumps.
  std::optional<Duration> clock_kept;  ///< How far a daemon of this boot was ahead of boot time.
  bool is_calm = false;
  std::vector<Input> old_news;      ///< What daemons told their engines of attempts.
  std::map<std::string, int> seen;  ///< How often what came up: a swarm that meets nothing is none.
};

}  // namespace berth::dst
