// Goal: an order and its events arrive as they were sent, and bytes that are neither are refused.
// Method: structures with no member at its default go there and back; then every shorter text, and
// texts with one damaged byte, are decoded.
#include "shim/order.hpp"

#include <gtest/gtest.h>

#include "core/base/bytes.hpp"

namespace berth::shim {
namespace {

Order full_order() {
  return {
      .job = JobId(42),
      .attempt = Attempt(3),
      .arguments = {"python3", "train.py", "", "--name=a b\n"},
      .environment = {"PATH=/bin", "EMPTY=", "odd"},
      .directory = "/data/a",
      .user = 4'000'000'000,
      .group = 1001,
      .groups = {1001, 27},
      .umask = 077,
      .log_cap = std::uint64_t{1} << 40,
      .grace_millis = 2500,
      .cgroup = "/sys/fs/cgroup/berth/42.3",
      .attach =
          Attach{
              .socket = "/run/s", .terminal = true, .rows = 50, .columns = 65535, .optional = true},
      .errors_apart = true,
      .save_signal = 10,
      .save_grace_millis = 60'000,
      .output = "logs/42.out",
      .adopted = Process{.pid = 4242, .start = 77}};
}

TEST(Order, ArrivesAsItWasSent) {
  const Order sent = full_order();
  const auto got = decode_order(encode(sent));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(encode(*got), encode(sent));
  EXPECT_EQ(got->job, sent.job);
  EXPECT_EQ(got->attempt, sent.attempt);
  EXPECT_EQ(got->arguments, sent.arguments);
  EXPECT_EQ(got->environment, sent.environment);
  EXPECT_EQ(got->directory, sent.directory);
  EXPECT_EQ(got->user, sent.user);
  EXPECT_EQ(got->group, sent.group);
  EXPECT_EQ(got->groups, sent.groups);
  EXPECT_EQ(got->umask, sent.umask);
  EXPECT_EQ(got->log_cap, sent.log_cap);
  EXPECT_EQ(got->grace_millis, sent.grace_millis);
  EXPECT_EQ(got->save_signal, sent.save_signal);
  EXPECT_EQ(got->save_grace_millis, sent.save_grace_millis);
  EXPECT_EQ(got->cgroup, sent.cgroup);
  EXPECT_EQ(got->output, sent.output);
  EXPECT_EQ(got->adopted, sent.adopted);
  ASSERT_TRUE(got->attach);
  EXPECT_EQ(got->attach->socket, sent.attach->socket);
  EXPECT_EQ(got->attach->terminal, sent.attach->terminal);
  EXPECT_EQ(got->attach->rows, sent.attach->rows);
  EXPECT_EQ(got->attach->columns, sent.attach->columns);
  EXPECT_EQ(got->attach->optional, sent.attach->optional);
  EXPECT_EQ(got->errors_apart, sent.errors_apart);
}

TEST(Order, IsRefusedCutAnywhere) {
  const std::string bytes = encode(full_order());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_order(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_order(bytes + '\0'));
}

TEST(Order, SurvivesDamage) {
  const std::string bytes = encode(full_order());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const auto order = decode_order(damaged);
      EXPECT_FALSE(order && order->arguments.empty());
    }
  }
}

TEST(Order, IsRefusedInAnotherFormat) {
  ByteWriter out;
  out.integer(kOrderFormat + 1);
  const auto order = decode_order(out.bytes());
  ASSERT_FALSE(order);
  EXPECT_EQ(order.error().message, "order: format 4, this shim knows 3");
}

TEST(Order, IsRefusedWhereNoProcessCanBeMadeOfIt) {
  const auto message = [](void change(Order&)) {
    Order order = full_order();
    change(order);
    const auto decoded = decode_order(encode(order));
    return decoded ? "good" : decoded.error().message;
  };
  EXPECT_EQ(message([](Order& order) { order.arguments.clear(); }), "order: no program");
  EXPECT_EQ(message([](Order& order) { order.grace_millis = -1; }),
            "order: a grace of -1 ms, the least is 0");
  EXPECT_EQ(message([](Order& order) { order.adopted->pid = 1; }),
            "order: adopts process 1, the least is 2");
  const std::string cut = "order: a word with a NUL within";
  EXPECT_EQ(message([](Order& order) { order.arguments[1].push_back('\0'); }), cut);
  EXPECT_EQ(message([](Order& order) { order.environment[1].push_back('\0'); }), cut);
  EXPECT_EQ(message([](Order& order) { order.directory.push_back('\0'); }), cut);
  EXPECT_EQ(message([](Order& order) { order.attach->socket.push_back('\0'); }), cut);
}

TEST(AttachRequest, ArrivesAsItWasSentAndIsRefusedOtherwise) {
  const std::string bytes = encode(*full_order().attach);
  const auto got = decode_attach(bytes);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(encode(*got), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_attach(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_attach(bytes + "x"));
  ByteWriter out;
  out.integer(2);
  EXPECT_EQ(decode_attach(out.bytes()).error().message,
            "request to attach: format 2, this shim knows 1");
}

TEST(Event, ArrivesAsItWasSent) {
  const Event started = Started{{.pid = 7, .start = 8}};
  const auto one = decode_event(encode(started));
  ASSERT_TRUE(one);
  EXPECT_EQ(std::get<Started>(*one).job, (Process{.pid = 7, .start = 8}));
  const Exit exit{.kind = Exit::Kind::Setup, .number = 13, .at = instant_from_micros(99)};
  const auto two = decode_event(encode(Event(Ended{.exit = exit, .note = "a note"})));
  ASSERT_TRUE(two);
  EXPECT_EQ(std::get<Ended>(*two).exit, exit);
  EXPECT_EQ(std::get<Ended>(*two).note, "a note");
  const auto three = decode_event(encode(Event(Unstarted{.why = "no process"})));
  ASSERT_TRUE(three);
  EXPECT_EQ(std::get<Unstarted>(*three).why, "no process");
}

TEST(Event, IsRefusedCutAnywhereAndWithMore) {
  const std::string bytes = encode(Event(Ended{.exit = {.number = 1, .at = kStart}, .note = "x"}));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_event(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_event(bytes + "x"));
  EXPECT_FALSE(decode_event("\x7f"));
}

}  // namespace
}  // namespace berth::shim
