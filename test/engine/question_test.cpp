// Goal: a policy's question goes to the shell once, and its answer is there for the pass of the
// step that brings it, also where the journal is decided again. Method: a policy that asks until it
// is answered.
#include <gtest/gtest.h>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

Question question_of(std::int64_t factor) {
  return {LinearProgram{.columns = 1, .rows = {}, .gain = {{0, factor}}}};
}

/// Asks one question until it is answered, then the next.
class Asking final : public Policy {
 public:
  Decisions decide(const ClusterView& view, std::span<const Event>) override {
    if (view.answer_to(question_of(asked_).number()) != nullptr) ++asked_;
    return {.list = {}, .wake_at = std::nullopt, .question = question_of(asked_)};
  }
  Snapshot save() const override { return std::to_string(asked_); }
  Expected<void> restore(const Snapshot& bytes) override {
    if (!bytes.empty()) asked_ = std::stoll(bytes);
    return {};
  }

 private:
  std::int64_t asked_ = 1;
};

Engine asking_engine() { return Engine(nodes_of(1, 1), {}, std::make_unique<Asking>()); }

std::vector<std::uint64_t> consulted(const Effects& effects) {
  std::vector<std::uint64_t> numbers;
  for (const Effect& effect : effects.list) {
    if (const auto* asked = std::get_if<Consult>(&effect)) {
      numbers.push_back(asked->question.number());
    }
  }
  return numbers;
}

std::vector<std::uint64_t> step(Engine& engine, std::int64_t at, Input input = Ticked{}) {
  return consulted(engine.step(kStart + seconds(at), std::vector{std::move(input)}));
}

Input answer_to(std::int64_t factor) {
  return Solved{{.number = question_of(factor).number(), .values = {7}}};
}

using Numbers = std::vector<std::uint64_t>;

TEST(Questions, GoToTheShellOnce) {
  Engine engine = asking_engine();
  EXPECT_EQ(step(engine, 0), Numbers{question_of(1).number()});
  EXPECT_EQ(step(engine, 1), Numbers{});
}

TEST(Questions, TheNextGoesWhenTheFirstIsAnswered) {
  Engine engine = asking_engine();
  step(engine, 0);
  EXPECT_EQ(step(engine, 1, answer_to(1)), Numbers{question_of(2).number()});
}

TEST(Questions, AnAnswerIsThereForItsStepAlone) {
  Engine engine = asking_engine();
  step(engine, 0);
  step(engine, 1, answer_to(2));  // nobody has asked that yet
  EXPECT_EQ(engine.view().answer_to(question_of(1).number()), nullptr);
  EXPECT_NE(engine.view().answer_to(question_of(2).number()), nullptr);
  EXPECT_EQ(step(engine, 2), Numbers{});
  EXPECT_EQ(engine.view().answer_to(question_of(2).number()), nullptr);
}

TEST(Questions, ARestartAsksAgain) {
  Engine engine = asking_engine();
  step(engine, 0);
  step(engine, 1, answer_to(1));
  auto copy = Engine::restore(engine.save(), std::make_unique<Asking>());
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(step(*copy, 2), Numbers{question_of(2).number()});
}

TEST(Questions, AnAnswerChangesNoBytesOfTheState) {
  Engine engine = asking_engine();
  Engine other = asking_engine();
  step(engine, 0, answer_to(9));
  step(other, 0);
  EXPECT_EQ(engine.save(), other.save());
}

}  // namespace
}  // namespace berth::test
