// Goal: a journal that an engine wrote is found to be right, and one that was changed is not.
//
// Method: engines with a random past under several policies are journaled with snapshots between;
// then one thing is changed by SQL or by a wrong call, and the message must name the entry.
#include "journal/verify.hpp"

#include <gmock/gmock.h>

#include "journal/checksum.hpp"
#include "journal/support.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using namespace berth::journal;
using testing::HasSubstr;

class Verify : public testing::Test {
 protected:
  std::string message() {
    const auto done = verify(path_);
    EXPECT_FALSE(done.has_value());
    if (done) return "";
    EXPECT_EQ(done.error().code, ErrorCode::BadData);
    return done.error().message.substr(path_.size() + 2);
  }

  ScratchFolder scratch_;
  std::string path_ = scratch_ / "journal.db";
};

class VerifyPolicies : public Verify, public testing::WithParamInterface<const char*> {};

TEST_P(VerifyPolicies, DecideAgainAlike) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const std::string path = scratch_ / ("journal" + std::to_string(seed) + ".db");
    Journaled journaled(path, GetParam(), seed);
    for (int part = 0; part < 4; ++part) {
      journaled.go_on(25);
      const auto done = verify(path);  // beside the writer
      ASSERT_TRUE(done.has_value()) << done.error().message;
      EXPECT_EQ(done->segments, part == 0 ? 1 : 2);
      EXPECT_EQ(done->entries, part == 0 ? 25 : 50);
      EXPECT_TRUE(part > 0 || done->inputs == journaled.inputs());
      EXPECT_GT(done->decisions, 0);
      journaled.snapshot();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, VerifyPolicies,
                         testing::Values("fifo-skip", "fair-share", "srtf", "dlas",
                                         "tiresias/dlas"));

TEST_F(Verify, AnEmptyJournal) {
  need_store(path_);
  const Verified done = need(verify(path_));
  EXPECT_EQ(done.segments, 0);
  EXPECT_EQ(done.entries, 0);
}

TEST_F(Verify, TheLastEntryMayBeUndecided) {
  Journaled journaled(path_, "fifo-skip", 1);
  journaled.go_on(10);
  journaled.begin_step();
  EXPECT_EQ(need(verify(path_)).entries, 10);
}

/// A restart replays decisions, or an administrator changes the policy: the journal goes on from a
/// snapshot of its own.
TEST_F(Verify, AChangedPolicyBeginsAnew) {
  History history("srtf", 3);
  Store store = need_store(path_);
  std::int64_t entry = 0;
  const auto snapshot = [&](const Engine& engine, const char* policy) {
    in_transaction(store, [&] {
      need(store.add_snapshot({.after = entry,
                               .policy = policy,
                               .place = "first-fit",
                               .build = "0.1.0",
                               .state = engine.save()}));
    });
  };
  const auto journal = [&](Engine& engine, const std::vector<Input>& inputs) {
    const Effects& effects = engine.step(history.now(), inputs);
    in_transaction(store, [&] {
      need(store.add_inputs(++entry, history.now(), encode_inputs(inputs)));
      need(store.add_decisions(entry, encode_decisions(effects.decisions)));
    });
  };
  const auto engine_of = [&](const std::string& state, const char* policy) {
    return std::move(*Engine::restore(state, std::move(*make_policy(policy, "first-fit"))));
  };
  Engine first = engine_of(history.engine().save(), "srtf");
  snapshot(first, "srtf");
  for (int i = 0; i < 30; ++i) {
    const std::vector<Input> inputs = history.next();
    history.step(inputs);
    journal(first, inputs);
  }
  Engine second = engine_of(first.save(), "fifo-skip");
  second.step(history.now(), {});  // not journaled: the snapshot says so
  snapshot(second, "fifo-skip");
  for (int i = 0; i < 30; ++i) {
    const std::vector<Input> inputs = history.next();
    history.step(inputs);
    journal(second, inputs);
  }
  const Verified done = need(verify(path_));
  EXPECT_EQ(done.segments, 2);
  EXPECT_EQ(done.entries, 60);
}

// ---- Differences
// ---------------------------------------------------------------------------------

class Changed : public Verify {
 protected:
  Changed() {
    Journaled journaled(path_, "fifo-skip", 5);
    journaled.go_on(20);
    journaled.snapshot();
    journaled.go_on(20);
  }
  void sql(const std::string& text) { Sql(path_).run(text); }
  /// Other bytes with a checksum that fits them, as a bug and not a disk would write them.
  void set(std::int64_t number, const char* column, std::int64_t sum, const std::string& bytes) {
    std::string hex;
    for (const char byte : bytes) {
      constexpr auto kDigits = "0123456789abcdef";
      hex += kDigits[static_cast<unsigned char>(byte) >> 4];
      hex += kDigits[static_cast<unsigned char>(byte) & 15];
    }
    sql(std::string("UPDATE entries SET ") + column + " = x'" + hex + "', " + column +
        "_sum = " + std::to_string(sum) + " WHERE number = " + std::to_string(number));
  }
  void set_decisions(std::int64_t number, const std::vector<Decision>& decisions) {
    const std::string bytes = encode_decisions(decisions);
    set(number, "decisions", Checksum().add(number).add(bytes).value(), bytes);
  }
  Entry entry(std::int64_t number) {
    return need(need_store(path_, Access::ReadOnly).entries(number - 1, number)).at(0);
  }
  void set_inputs(std::int64_t number, const std::vector<Input>& inputs) {
    const std::string bytes = encode_inputs(inputs);
    const Instant now = entry(number).now;
    set(number, "inputs", Checksum().add(number).add(micros(now)).add(bytes).value(), bytes);
  }
  std::vector<Decision> decisions(std::int64_t number) {
    return need(decode_decisions(entry(number).decisions.value()));
  }
  /// The first entry after `from` with a start in it.
  std::int64_t first_start(std::int64_t from) {
    while (true) {
      const auto list = decisions(++from);
      if (!list.empty() && std::holds_alternative<Start>(list[0])) return from;
    }
  }
  std::string entry_words(std::int64_t number) { return "entry " + std::to_string(number) + ": "; }
};

TEST_F(Changed, NotAtAll) { EXPECT_EQ(need(verify(path_)).entries, 40); }

TEST_F(Changed, AnotherDecision) {
  const std::int64_t number = first_start(20);
  auto list = decisions(number);
  const JobId job = std::get<Start>(list[0]).job;
  list[0] = Preempt{.job = job};
  set_decisions(number, list);
  const std::string name = "job " + std::to_string(job.value());
  EXPECT_EQ(message(), entry_words(number) + "decision 1 is `start " + name +
                           "`, recorded is `preempt " + name + "` (recorded by berth 0.1.0)");
}

TEST_F(Changed, ADecisionsDetail) {
  const std::int64_t number = first_start(0);
  auto list = decisions(number);
  std::get<Start>(list[0]).milli = GpuMilli(7);
  set_decisions(number, list);
  EXPECT_THAT(message(), HasSubstr(", differs in its details"));
}

TEST_F(Changed, ADecisionTooManyAndOneTooFew) {
  const std::int64_t number = first_start(0);
  const auto list = decisions(number);
  auto more = list;
  more.push_back(Reject{.job = JobId(999)});
  set_decisions(number, more);
  EXPECT_THAT(message(), HasSubstr("is none, recorded is `reject job 999`"));
  set_decisions(number, {});
  EXPECT_THAT(message(), HasSubstr(entry_words(number) + "decision 1 is `start job"));
  EXPECT_THAT(message(), HasSubstr(", recorded is none"));
}

TEST_F(Changed, AnInput) {
  const std::int64_t number = first_start(0);
  set_inputs(number, {Ticked{}});
  EXPECT_THAT(message(), HasSubstr("entry "));  // there, or where it first matters
}

TEST_F(Changed, AnInputThatOnlyTheStateShows) {
  auto inputs = need(decode_inputs(entry(20).inputs));
  inputs.push_back(Measured{.gpu = GpuId(0), .foreign = Bytes(4096)});
  set_inputs(20, inputs);
  EXPECT_THAT(message(), HasSubstr("entry 20: "));
}

TEST_F(Changed, AFlippedByteWithoutItsSum) {
  sql("UPDATE entries SET inputs = x'00' WHERE number = 9");
  EXPECT_EQ(message(), "entry 9: its inputs do not have their checksum");
}

TEST_F(Changed, AMissingEntry) {
  sql("DELETE FROM entries WHERE number = 7");
  EXPECT_EQ(message(), "entry 7: missing (recorded by berth 0.1.0)");
}

TEST_F(Changed, AMissingEntryBeforeASnapshot) {
  sql("DELETE FROM entries WHERE number = 20");
  EXPECT_EQ(message(), "entry 20: missing (recorded by berth 0.1.0)");
}

TEST_F(Changed, AnUndecidedEntryInTheMiddle) {
  sql("UPDATE entries SET decisions = NULL WHERE number = 12");
  EXPECT_THAT(message(), HasSubstr("entry 12: has no decisions and is not the last"));
}

TEST_F(Changed, AnUndecidedEntryBeforeASnapshot) {
  sql("UPDATE entries SET decisions = NULL WHERE number = 20");
  EXPECT_THAT(message(), HasSubstr("entry 20: has no decisions and is not the last"));
}

TEST_F(Changed, TimeThatGoesBack) {
  const std::string bytes = entry(30).inputs;
  const std::int64_t sum = Checksum().add(30).add(1).add(bytes).value();
  sql("UPDATE entries SET now = 1, inputs_sum = " + std::to_string(sum) + " WHERE number = 30");
  EXPECT_THAT(message(), HasSubstr("entry 30: at 0.000001 s, before the one before it"));
}

TEST_F(Changed, InputsThatAreNone) {
  const std::string bytes = "garbage";
  const std::int64_t now = micros(entry(8).now);
  set(8, "inputs", Checksum().add(8).add(now).add(bytes).value(), bytes);
  EXPECT_THAT(message(), HasSubstr("entry 8: journal: not a list of inputs"));
}

TEST_F(Verify, AStateThatDoesNotFollow) {
  {
    Journaled journaled(path_, "fifo-skip", 5);
    journaled.go_on(20);
    Engine other(journaled.history().engine().view().cluster(), {},
                 journaled.history().fresh_policy());
    in_transaction(journaled.store(), [&] {
      need(journaled.store().add_snapshot({.after = 20,
                                           .policy = "fifo-skip",
                                           .place = "first-fit",
                                           .build = "0.1.0",
                                           .continuity = Continuity::Same,
                                           .state = other.save()}));
    });
  }
  EXPECT_THAT(message(), HasSubstr("entry 20: the state after it differs from the snapshot there"));
}

TEST_F(Verify, ASnapshotThatIsNone) {
  {
    Store store = need_store(path_);
    in_transaction(store, [&] { need(store.add_snapshot(plain_snapshot(0, "garbage"))); });
  }
  EXPECT_THAT(message(), HasSubstr("snapshot after entry 0: snapshot: "));
}

TEST_F(Verify, APolicyThatIsUnknown) {
  {
    Store store = need_store(path_);
    in_transaction(store, [&] {
      need(store.add_snapshot({.after = 0, .policy = "best", .place = "first-fit"}));
    });
  }
  EXPECT_THAT(message(), HasSubstr("snapshot after entry 0: "));
  EXPECT_THAT(message(), HasSubstr("best"));
}

}  // namespace
}  // namespace berth::test
