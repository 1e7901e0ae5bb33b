// Places kept for two jobs on the same GPUs, which admission allows beside each other under
// `declared` or `free-memory` but not under `guarantee`: each was kept out by the place of the
// other, and neither ever started, on empty GPUs.
#include <gtest/gtest.h>

#include "engine/rig.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

class Issue003 : public testing::TestWithParam<AdmissionMode> {};

TEST_P(Issue003, PlacesKeptDoNotKeepEachOtherOut) {
  Settings settings;
  settings.admission.mode = GetParam();
  Engine engine(nodes_of(1, 1), {.settings = settings}, *make_policy("conservative", "first-fit"));
  JobSpec first = whole(1);
  first.request.gpu.vram = 24_GiB;
  engine.step(kStart, std::vector<Input>{Submitted{JobId(1), first}});
  engine.step(kStart + seconds(1), std::vector<Input>{Submitted{JobId(2), shared(1, 14_GiB)},
                                                      Submitted{JobId(3), shared(1, 10_GiB)}});
  ASSERT_EQ(engine.view().holds().size(), 2U);
  engine.step(kStart + seconds(2),
              std::vector<Input>{Exited{JobId(1), Attempt(1)}, Released{JobId(1), Attempt(1)}});
  for (const JobId id : {JobId(2), JobId(3)}) {
    EXPECT_EQ(engine.view().find(id)->state, JobState::Starting) << id.value();
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Issue003,
                         testing::Values(AdmissionMode::Declared, AdmissionMode::FreeMemory));

}  // namespace
}  // namespace berth::test
