#include "shim/order.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <tuple>
#include <utility>

#include "core/base/codec.hpp"
#include "core/base/limits.hpp"
#include "core/conditions.hpp"

namespace berth::shim {

// Found by the codec, which looks beside the structures.
constexpr Exit::Kind last_of(Exit::Kind) { return Exit::Kind::Setup; }
static auto members(Process& v) { return std::tie(v.pid, v.start); }
static auto members(Exit& v) { return std::tie(v.kind, v.number, v.at); }
static auto members(Started& v) { return std::tie(v.job); }
static auto members(Ended& v) { return std::tie(v.exit, v.note); }
static auto members(Unstarted& v) { return std::tie(v.why); }
static auto members(Attach& v) {
  return std::tie(v.socket, v.terminal, v.rows, v.columns, v.optional);
}
template <class AnOrder>
static auto before_words(AnOrder& v) {
  return std::tie(v.job, v.attempt);
}
template <class AnOrder>
static auto after_words(AnOrder& v) {
  return std::tie(v.directory, v.user, v.group, v.groups, v.umask, v.log_cap, v.grace_millis,
                  v.cgroup, v.keeps_cgroup, v.attach, v.errors_apart, v.save_signal,
                  v.save_grace_millis, v.output, v.adopted);
}
static auto members(Order& v) {
  return std::tuple_cat(before_words(v), std::tie(v.arguments, v.environment), after_words(v));
}

namespace {

constexpr int kMostDescriptors = 3;
constexpr int kAttachFormat = 1;

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

/// What no process can be made of; nothing for a good order.
std::optional<std::string> flaw_of(const Order& order) {
  if (order.arguments.empty()) return "order: no program";
  if (order.grace_millis < 0) {
    return "order: a grace of " + std::to_string(order.grace_millis) + " ms, the least is 0";
  }
  if (order.save_signal < 0 || order.save_signal > limits::kLastSignal ||
      order.save_grace_millis < 0) {
    return "order: a signal to save of " + std::to_string(order.save_signal) + " with " +
           std::to_string(order.save_grace_millis) + " ms";
  }
  if (order.adopted && order.adopted->pid <= 1) {
    return "order: adopts process " + std::to_string(order.adopted->pid) + ", the least is 2";
  }
  const bool cut = std::ranges::any_of(order.arguments, has_nul) ||
                   std::ranges::any_of(order.environment, has_nul) || has_nul(order.directory) ||
                   has_nul(order.cgroup) || has_nul(order.output) ||
                   (order.attach && has_nul(order.attach->socket));
  if (cut) return "order: a word with a NUL within";
  return std::nullopt;
}

std::unexpected<Error> io_error(const std::string& doing) {
  return fail(ErrorCode::Io, doing + ": " + std::strerror(errno));
}

Expected<void> send_packet(int socket, std::string_view bytes, std::span<const int> descriptors) {
  iovec part{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr message{.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.data()};
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return io_error("send an order of " + std::to_string(bytes.size()) + " B");
  }
  return {};
}

Expected<void> write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error("write an order to memory");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// Bytes that go to a file as they come: the whole of a large order would be two megabytes of fresh
/// memory, which the kernel takes longer to give than they take to be written.
class Spill {
 public:
  explicit Spill(int file) : file_(file) {}

  template <class Value>
  void put(const Value& value) {
    codec::put(out_, value);
  }
  void put_words(const std::vector<std::string>& words) {
    out_.integer(static_cast<std::int64_t>(words.size()));
    for (const std::string& word : words) {
      out_.text(word);
      if (out_.bytes().size() >= kLargestPacket) flush();
    }
  }
  Expected<void> finish() {
    flush();
    return done_;
  }

 private:
  void flush() {
    const std::string bytes = std::exchange(out_, ByteWriter()).take();
    if (done_) done_ = write_all(file_, bytes);
  }

  int file_;
  ByteWriter out_;
  Expected<void> done_;
};

/// As encode() does it.
Expected<void> write_order(int file, const Order& order) {
  Spill out(file);
  out.put(std::int64_t{kOrderFormat});
  std::apply([&](const auto&... parts) { (out.put(parts), ...); }, before_words(order));
  out.put_words(order.arguments);
  out.put_words(order.environment);
  std::apply([&](const auto&... parts) { (out.put(parts), ...); }, after_words(order));
  return out.finish();
}

Expected<void> send_in_memory(int socket, const Order& order, int attempt_file, int log_file) {
  const int memory = memfd_create("berth-order", MFD_CLOEXEC);
  if (memory < 0) return io_error("make memory for an order");
  auto sent = write_order(memory, order);
  if (sent) sent = send_packet(socket, "memory", std::array{attempt_file, log_file, memory});
  close(memory);
  return sent;
}

bool is_large(const Order& order) {
  std::size_t size = 0;
  for (const auto* const words : {&order.arguments, &order.environment}) {
    for (const std::string& word : *words) size += word.size();
  }
  return size > kLargestPacket / 2;
}

}  // namespace

std::string encode(const Order& order) {
  ByteWriter out;
  out.integer(kOrderFormat);
  codec::put(out, order);
  return out.take();
}

std::string encode(const Event& event) {
  ByteWriter out;
  codec::put(out, event);
  return out.take();
}

Expected<Order> decode_order(std::string_view bytes) {
  ByteReader in(bytes);
  const std::int64_t format = in.integer();
  if (!in.failed() && format != kOrderFormat) {
    return fail(ErrorCode::BadData, "order: format " + std::to_string(format) +
                                        ", this shim knows " + std::to_string(kOrderFormat));
  }
  Order order;
  codec::get(in, order);
  if (in.failed() || !in.at_end()) {
    return fail(ErrorCode::BadData, std::to_string(bytes.size()) + " bytes are no order");
  }
  if (auto flaw = flaw_of(order)) return fail(ErrorCode::BadData, std::move(*flaw));
  return order;
}

std::string encode(const Attach& request) {
  ByteWriter out;
  out.integer(kAttachFormat);
  codec::put(out, request);
  return out.take();
}

Expected<Attach> decode_attach(std::string_view bytes) {
  ByteReader in(bytes);
  const std::int64_t format = in.integer();
  if (!in.failed() && format != kAttachFormat) {
    return fail(ErrorCode::BadData, "request to attach: format " + std::to_string(format) +
                                        ", this shim knows " + std::to_string(kAttachFormat));
  }
  Attach request;
  codec::get(in, request);
  if (in.failed() || !in.at_end() || has_nul(request.socket)) {
    return fail(ErrorCode::BadData,
                std::to_string(bytes.size()) + " bytes are no request to attach");
  }
  return request;
}

Expected<Event> decode_event(std::string_view bytes) {
  ByteReader in(bytes);
  Event event;
  codec::get(in, event);
  if (in.failed() || !in.at_end()) {
    return fail(ErrorCode::BadData, std::to_string(bytes.size()) + " bytes are no event");
  }
  return event;
}

Expected<void> send_order(int socket, const Order& order, int attempt_file, int log_file) {
  if (is_large(order)) return send_in_memory(socket, order, attempt_file, log_file);
  const std::string bytes = encode(order);
  if (bytes.size() > kLargestPacket) return send_in_memory(socket, order, attempt_file, log_file);
  return send_packet(socket, bytes, std::array{attempt_file, log_file});
}

}  // namespace berth::shim
