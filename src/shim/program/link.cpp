#include "shim/program/link.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace berth::shim {

namespace {

constexpr std::size_t kMostDescriptors = 3;
constexpr std::size_t kLargestOrder = 64 * 1024 * 1024;

struct Packet {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;  ///< 0: the daemon is gone.
  std::vector<Descriptor> descriptors;

  std::string_view view() const { return {bytes.get(), size}; }
};

std::vector<Descriptor> descriptors_in(msghdr& message) {
  std::vector<Descriptor> found;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof number);
      found.emplace_back(number);
    }
  }
  return found;
}

Expected<Packet> receive(int socket) {
  // Not cleared, so that a spare holds no page of it while it waits.
  Packet packet{.bytes = std::make_unique_for_overwrite<char[]>(kLargestPacket)};
  iovec part{.iov_base = packet.bytes.get(), .iov_len = kLargestPacket};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr message{.msg_iov = &part,
                 .msg_iovlen = 1,
                 .msg_control = control.data(),
                 .msg_controllen = control.size()};
  ssize_t size = -1;
  do {
    size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  // A daemon killed with something unread of ours resets instead of ending.
  if (size < 0 && errno != ECONNRESET) return fail(ErrorCode::Io, strerrordesc_np(errno));
  packet.size = size < 0 ? 0 : static_cast<std::size_t>(size);
  packet.descriptors = descriptors_in(message);
  return packet;
}

Expected<Order> decode_memory(int memory) {
  struct stat about{};
  fstat(memory, &about);
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size == 0 || size > kLargestOrder) {
    return fail(ErrorCode::BadData, "order: " + std::to_string(size) + " B, the most is " +
                                        std::to_string(kLargestOrder));
  }
  void* const bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, memory, 0);
  if (bytes == MAP_FAILED) {
    return fail(ErrorCode::BadData, std::string("order: its memory: ") + strerrordesc_np(errno));
  }
  auto order = decode_order({static_cast<const char*>(bytes), size});
  munmap(bytes, size);
  return order;
}

}  // namespace

Expected<std::optional<Told>> receive_order(int socket) {
  auto packet = receive(socket);
  if (!packet) return std::unexpected(packet.error());
  if (packet->size == 0) return std::nullopt;
  auto& descriptors = packet->descriptors;
  if (descriptors.size() < 2) {
    return fail(ErrorCode::BadData, "order: came with " + std::to_string(descriptors.size()) +
                                        " descriptors, the least is 2");
  }
  auto order = descriptors.size() > 2 ? decode_memory(descriptors[2].number())
                                      : decode_order(packet->view());
  if (!order) return std::unexpected(order.error());
  return Told{std::move(*order), std::move(descriptors[0]), std::move(descriptors[1])};
}

void send_event(int socket, const Event& event) {
  const std::string bytes = encode(event);
  if (send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
}

}  // namespace berth::shim
