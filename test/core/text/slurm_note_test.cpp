// Goal: berth reads its note of a job as it wrote it, takes nobody else's for one, and names what
// is wrong in one.
#include "core/text/slurm_note.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

using namespace literals;

TEST(SlurmNoteText, IsReadAsItWasWritten) {
  const SlurmNote note{.vram = 20_GiB,
                       .gpus = 2,
                       .duration_class = DurationClass::Short,
                       .is_held = true,
                       .attempt = Attempt(3),
                       .place = "n3:5,n3:6"};
  EXPECT_EQ(to_text(note), "berth vram=20GiB gpus=2 class=short held attempt=3 at=n3:5,n3:6");
  const auto read = parse_slurm_note(to_text(note) + "; job 4: asks 9 GPUs");
  ASSERT_TRUE(read && *read);
  EXPECT_EQ(**read, note);
}

TEST(SlurmNoteText, CountsMemoryInWholeShards) {
  const auto note = parse_slurm_note("berth vram=1.5G");
  ASSERT_TRUE(note && *note);
  EXPECT_EQ((*note)->vram, 2_GiB);
}

TEST(SlurmNoteText, OfSomebodyElseIsNone) {
  for (const char* text : {"", "please be gentle", "berths 3"}) {
    const auto note = parse_slurm_note(text);
    ASSERT_TRUE(note) << text;
    EXPECT_FALSE(*note) << text;
  }
}

TEST(SlurmNoteText, ThatIsWrongNamesTheWord) {
  for (const char* text : {"berth vram=lots", "berth gpus=x", "berth class=quick", "berth what"}) {
    const auto note = parse_slurm_note(text);
    ASSERT_FALSE(note) << text;
    EXPECT_NE(note.error().message.find(std::string(text).substr(6)), std::string::npos);
  }
}

}  // namespace
}  // namespace berth
