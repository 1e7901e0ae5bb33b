// No backfilling.
#include "policy/backfills.hpp"
#include "policy/pipeline/backfill.hpp"

namespace berth {

constexpr About kBlock{
    .title = "No backfilling: a job that does not fit blocks all jobs behind it.",
    .rule =
        "Jobs start in rank order until the first that does not fit. A job over its user's limits "
        "is passed: it waits for its own user and not for room.",
    .reads = "What the order reads.",
    .source = "Folklore; Slurm's sched/builtin.",
    .differs = "Nothing known.",
    .cost = "O(lanes) per pass; a lane is one user and one request.",
    .proof =
        "`fifo` with it is compared with Tiresias' simulator job by job "
        "(test/sim/tiresias_oracle_test.cpp)."};

namespace {

class Block final : public Backfill {
 public:
  void run(Walk& walk) override {
    walk.begin_all();
    while (const auto head = walk.next()) {
      if (head->lane->closed) break;
      const Ask ask = walk.ask_of(*head->lane);
      const bool is_allowed = walk.tally().allows(head->job(), ask.gpus());
      Placed placed = walk.place(head->job(), ask);
      if (placed) {
        walk.start(head->job(), ask, std::move(*placed), Because::ItsTurn);
        walk.pass_on(*head);
        continue;
      }
      Walk::close(*head, placed.error());
      if (is_allowed) break;
    }
    walk.end();
  }
};

}  // namespace

std::unique_ptr<Backfill> block(const Keys&) { return std::make_unique<Block>(); }

}  // namespace berth
