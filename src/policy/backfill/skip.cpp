// Every job that fits passes one that does not.
#include "policy/backfills.hpp"
#include "policy/pipeline/backfill.hpp"

namespace berth {

constexpr About kSkip{
    .title = "Greedy: any job that fits may pass one that does not.",
    .rule = "Jobs start in rank order; a job that does not fit is passed, and may wait for ever.",
    .reads = "What the order reads.",
    .source = "Folklore.",
    .differs = "Nothing known.",
    .cost = "O(lanes that may start) per pass; a lane is one user and one request.",
    .proof =
        "`fifo-skip` is compared with Tiresias' simulator job by job "
        "(test/sim/tiresias_oracle_test.cpp).",
    .passing = {.who = Passing::Who::Anybody}};

namespace {

class Skip final : public Backfill {
 public:
  void run(Walk& walk) override {
    walk.close_hopeless();
    walk.begin_open();
    while (const auto head = walk.next()) {
      const Ask ask = walk.ask_of(*head->lane);
      if (Placed placed = walk.place(head->job(), ask)) {
        walk.start(head->job(), ask, std::move(*placed), Because::ItsTurn);
        walk.pass_on(*head);
      } else if (placed.error().why == Why::Patience && !walk.context().gates.go_by_run()) {
        Walk::note(*head, placed.error());
        walk.pass_on(*head);
      } else {
        walk.rule_out(ask, placed.error());
        Walk::close(*head, placed.error());
      }
    }
    walk.end();
  }
};

}  // namespace

std::unique_ptr<Backfill> skip(const Keys&) { return std::make_unique<Skip>(); }

}  // namespace berth
