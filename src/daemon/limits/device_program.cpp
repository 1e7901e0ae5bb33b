#include "daemon/limits/device_program.hpp"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "posix/descriptor.hpp"
#include "posix/error.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kMostPrograms = 64;  ///< What the kernel allows on one group.

using Program = std::vector<bpf_insn>;
using Parameters = bpf_attr;

bpf_insn instruction(int code, std::uint8_t to, std::int32_t value) {
  constexpr std::uint8_t kRegister = 0xf;
  bpf_insn made{};
  made.code = static_cast<std::uint8_t>(code);
  made.dst_reg = to & kRegister;
  made.imm = value;
  return made;
}
/// Goes on so many instructions later unless the register has this value.
bpf_insn skip_unless(std::uint8_t reg, std::uint32_t value, std::int16_t skipped) {
  bpf_insn made = instruction(BPF_JMP32 | BPF_JNE | BPF_K, reg, static_cast<std::int32_t>(value));
  made.off = skipped;
  return made;
}
/// A word of what the kernel asks about.
bpf_insn load(std::uint8_t to, std::size_t offset) {
  bpf_insn made = instruction(BPF_LDX | BPF_MEM | BPF_W, to, 0);
  made.src_reg = BPF_REG_1;
  made.off = static_cast<std::int16_t>(offset);
  return made;
}

void append_return(Program& program, int value) {
  program.push_back(instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, value));
  program.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0));
}

/// Answers 0 for a character device that is denied, 1 for all else.
Program program_for(const std::vector<DeviceNumber>& denied) {
  constexpr int kDeny = 0;
  constexpr int kAllow = 1;
  constexpr std::int32_t kTypeBits = 0xffff;
  Program program = {load(BPF_REG_2, offsetof(bpf_cgroup_dev_ctx, access_type)),
                     load(BPF_REG_3, offsetof(bpf_cgroup_dev_ctx, major)),
                     load(BPF_REG_4, offsetof(bpf_cgroup_dev_ctx, minor)),
                     instruction(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_2, kTypeBits)};
  for (const DeviceNumber& device : denied) {
    program.push_back(skip_unless(BPF_REG_2, BPF_DEVCG_DEV_CHAR, 4));
    program.push_back(skip_unless(BPF_REG_3, device.major, 3));
    program.push_back(skip_unless(BPF_REG_4, device.minor, 2));
    append_return(program, kDeny);
  }
  append_return(program, kAllow);
  return program;
}

long call(bpf_cmd command, Parameters& parameters) {
  return ::syscall(SYS_bpf, command, &parameters, sizeof parameters);
}

std::uint64_t address_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

Parameters cleared() {
  Parameters parameters;
  std::memset(&parameters, 0, sizeof parameters);  // the kernel refuses what it does not know
  return parameters;
}

Expected<Descriptor> load_program(const Program& program) {
  Parameters parameters = cleared();
  parameters.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  parameters.expected_attach_type = BPF_CGROUP_DEVICE;
  parameters.insns = address_of(program.data());
  parameters.insn_cnt = static_cast<std::uint32_t>(program.size());
  parameters.license = address_of("Apache-2.0");
  Descriptor loaded(static_cast<int>(call(BPF_PROG_LOAD, parameters)));
  if (!loaded.is_open()) return io_error("bpf: load");
  return loaded;
}

Expected<std::vector<std::uint32_t>> programs_on(const Descriptor& group) {
  std::array<std::uint32_t, kMostPrograms> ids{};
  Parameters parameters = cleared();
  parameters.query.target_fd = static_cast<std::uint32_t>(group.number());
  parameters.query.attach_type = BPF_CGROUP_DEVICE;
  parameters.query.prog_ids = address_of(ids.data());
  parameters.query.prog_cnt = ids.size();
  if (call(BPF_PROG_QUERY, parameters) != 0) return io_error("bpf: query");
  return std::vector(ids.begin(), ids.begin() + parameters.query.prog_cnt);
}

Expected<void> change(bpf_cmd command, const Descriptor& group, const Descriptor& program) {
  Parameters parameters = cleared();
  parameters.target_fd = static_cast<std::uint32_t>(group.number());
  parameters.attach_bpf_fd = static_cast<std::uint32_t>(program.number());
  parameters.attach_type = BPF_CGROUP_DEVICE;
  // Beside those of the groups above, which systemd may have put there: all must allow.
  if (command == BPF_PROG_ATTACH) parameters.attach_flags = BPF_F_ALLOW_MULTI;
  if (call(command, parameters) != 0) {
    return io_error(command == BPF_PROG_ATTACH ? "bpf: attach" : "bpf: detach");
  }
  return {};
}

Expected<void> detach(const Descriptor& group, std::uint32_t id) {
  Parameters parameters = cleared();
  parameters.prog_id = id;
  const Descriptor program(static_cast<int>(call(BPF_PROG_GET_FD_BY_ID, parameters)));
  if (!program.is_open()) return io_error("bpf: program " + std::to_string(id));
  return change(BPF_PROG_DETACH, group, program);
}

Descriptor open_group(const std::string& group) {
  return Descriptor(::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

Expected<void> deny_devices(const std::string& group, const std::vector<DeviceNumber>& denied) {
  const Descriptor folder = open_group(group);
  if (!folder.is_open()) return io_error(group);
  const auto before = programs_on(folder);
  if (!before) return std::unexpected(before.error());
  if (!denied.empty()) {
    const auto program = load_program(program_for(denied));
    if (!program) return std::unexpected(program.error());
    if (auto done = change(BPF_PROG_ATTACH, folder, *program); !done) return done;
  }
  for (const std::uint32_t id : *before) {
    if (auto done = detach(folder, id); !done) return done;
  }
  return {};
}

bool has_device_program(const std::string& group) {
  const Descriptor folder = open_group(group);
  if (!folder.is_open()) return false;
  const auto programs = programs_on(folder);
  return programs && !programs->empty();
}

}  // namespace berth::daemon
