// First in, first out, for every name whose order is that of submission.
#include "policy/policies.hpp"

namespace berth {

constexpr About kFifo{
    .title = "First in, first out; a job that does not fit blocks all jobs behind it.",
    .rule = "rank = time of submission. The first job that does not fit blocks all jobs behind it.",
    .reads = "Time of submission.",
    .source = "Folklore.",
    .differs = "Nothing known.",
    .cost = "O(1) per job.",
    .proof =
        "With placement `count` or `yarn` it is `tiresias/fifo`, which is compared with that "
        "simulator job by job (test/sim/tiresias_oracle_test.cpp)."};

constexpr About kFifoSkip = like(
    kFifo, {.title = "First in, first out; any job that fits may pass one that does not.",
            .rule = "rank = time of submission. Any job that fits may pass a job that does not.",
            .proof = "With placement `count` or `yarn` it is `tiresias/fjf`, which is compared "
                     "with that simulator job by job (test/sim/tiresias_oracle_test.cpp)."});

constexpr About kFifoEasy =
    like(kFifo, {.title = "First in, first out with EASY backfilling: `fifo+easy`.",
                 .rule = "rank = time of submission, with backfill `easy`.",
                 .reads = "Time of submission, time limit or else estimate, run time.",
                 .source = "Lifka, JSSPP 1995, in the form of Mu'alem and Feitelson, TPDS 2001.",
                 .differs = "As backfill `easy`.",
                 .proof = "As backfill `easy`."});

constexpr About kFifoConservative =
    like(kFifo, {.title = "First in, first out with conservative backfilling: `fifo+conservative`.",
                 .rule = "rank = time of submission, with backfill `conservative`.",
                 .reads = "Time of submission, time limit or else estimate, run time.",
                 .source = "Mu'alem and Feitelson, TPDS 2001.",
                 .differs = "As backfill `conservative`.",
                 .proof = "As backfill `conservative`."});

constexpr About kExclusive = like(
    kFifo, {.title = "First in, first out, one job per GPU; any job that fits may pass.",
            .rule = "rank = time of submission. Every job gets its GPUs alone, even if it asks for "
                    "less. Any job that fits may pass a job that does not.",
            .proof = "None yet."});

constexpr About kTiresiasFifo = like(
    kFifo, {.title = "Tiresias' simulator: first in, first out; a job that does not fit blocks all "
                     "jobs behind it.",
            .source = "The simulator of Tiresias (Gu et al., NSDI 2019), artifact 959f9b0.",
            .proof = "Every start and end of the simulator's own runs with placements `count` and "
                     "`yarn`: 60_job, which its authors published, and Y480 and Y480t, which were "
                     "derived from their duration samples (test/sim/tiresias_oracle_test.cpp)."});

constexpr About kTiresiasFjf = like(
    kTiresiasFifo,
    {.title =
         "Tiresias' simulator: first in, first out; any job that fits may pass one that does not.",
     .rule = "rank = time of submission. Any job that fits may pass a job that does not. The "
             "simulator calls it `fjf`."});

namespace {

class Fifo final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = micros(job.in_line_since())}, .valid_until = std::nullopt};
  }
};

}  // namespace

std::unique_ptr<Order> fifo(const Keys&, const Knobs&) { return std::make_unique<Fifo>(); }

}  // namespace berth
