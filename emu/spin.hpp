// The two kernels both sides know: berth-load brings them; of the first the emulator reads the
// first parameter.
#pragma once

namespace berth::emu {

inline constexpr const char* kSpinEntry = "berth_spin";
/// A kernel that traps: a fatal fault.
inline constexpr const char* kTrapEntry = "berth_trap";

/// Keeps one thread busy. A real GPU runs `iterations` turns of the loop and does not look at
/// `nanoseconds`; the emulator takes `nanoseconds` as the kernel's length and runs nothing.
/// Iterations and not a clock, because a clock runs on while another tenant has the GPU: a kernel
/// that spins until a time would be as fast on a shared GPU as alone. The value that the turns make
/// is stored, and no turn can be left out of it: a loop whose result nobody reads is removed.
inline constexpr const char* kSpinPtx = R"(
.version 6.0
.target sm_30
.address_size 64

.visible .global .align 8 .u64 berth_spun;

.visible .entry berth_spin(
  .param .u64 nanoseconds,
  .param .u64 iterations
)
{
  .reg .pred %done;
  .reg .u64 %left, %value;

  ld.param.u64 %left, [iterations];
  mov.u64 %value, %left;
turn:
  setp.eq.u64 %done, %left, 0;
  @%done bra finish;
  mad.lo.u64 %value, %value, 6364136223846793005, 1442695040888963407;
  sub.u64 %left, %left, 1;
  bra turn;
finish:
  st.global.u64 [berth_spun], %value;
  ret;
}

.visible .entry berth_trap()
{
  trap;
  ret;
}
)";

}  // namespace berth::emu
