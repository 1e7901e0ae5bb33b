// Goal: the client's errors say what happened and where, and events come out of a stream whole,
// however it was cut.
// Method: no server, a made-up server that says wrong things, and texts cut at every place.
#include "http/client.hpp"

#include "http/rig.hpp"

namespace berth::http::test {
namespace {

/// Answers one connection with these bytes once a request has come, and closes.
class MadeUpServer {
 public:
  MadeUpServer(const std::string& path, std::string answer) {
    auto listener = Listener::open(path, 0600);
    if (!listener) ADD_FAILURE() << listener.error().message;
    thread_ = std::thread([kept = std::move(*listener), said = std::move(answer)]() mutable {
      const Descriptor listening(kept.release());
      pollfd waiting = {.fd = listening.number(), .events = POLLIN, .revents = 0};
      if (poll(&waiting, 1, 20'000) != 1) return;
      const Descriptor peer(accept(listening.number(), nullptr, nullptr));
      std::array<char, 4096> bytes;
      if (recv(peer.number(), bytes.data(), bytes.size(), 0) <= 0) return;
      (void)::send(peer.number(), said.data(), said.size(), MSG_NOSIGNAL);
    });
  }
  ~MadeUpServer() { thread_.join(); }

 private:
  std::thread thread_;
};

class WithMadeUpServer : public Http {
 protected:
  Expected<Response> answer_from(std::string bytes) {
    const MadeUpServer server(path_, std::move(bytes));
    return client().request("GET", "/");
  }
};

TEST_F(Http, NobodyListens) {
  const auto absent = Client::open(path_);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::NotFound);
  EXPECT_EQ(absent.error().message, path_ + ": no server listens there");
  folder_.write("berth.sock", "");
  EXPECT_EQ(Client::open(path_).error().code, ErrorCode::NotFound);
}

TEST_F(Http, TheServerWentAway) {
  serve_echo();
  Client peer = client();
  ASSERT_TRUE(peer.request("GET", "/"));
  server_.reset();
  const auto answer = peer.request("GET", "/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::Io);
  EXPECT_TRUE(answer.error().message.starts_with(path_ + ": ")) << answer.error().message;
  EXPECT_EQ(peer.descriptor(), -1);
  EXPECT_EQ(peer.request("GET", "/").error().message, path_ + ": the connection is closed");
}

TEST_F(WithMadeUpServer, AnAnswerUpToTheEndOfTheConnection) {
  const auto answer = answer_from("HTTP/1.1 200 OK\r\n\r\nall of it");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "all of it");
}

TEST_F(WithMadeUpServer, InterimAnswersAreSkipped) {
  const auto answer = answer_from(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 202);
  EXPECT_EQ(answer->body, "ok");
}

TEST_F(WithMadeUpServer, AnAnswerThatIsCutOff) {
  for (const std::string bytes :
       {"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"}) {
    const auto answer = answer_from(bytes);
    ASSERT_FALSE(answer) << bytes;
    EXPECT_EQ(answer.error().code, ErrorCode::Io);
    EXPECT_EQ(answer.error().message, path_ + ": the peer went away before the end of its answer");
  }
}

TEST_F(WithMadeUpServer, AnAnswerThatIsNone) {
  const auto answer = answer_from("SSH-2.0-OpenSSH_9.2\r\n");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::Io);
  EXPECT_NE(answer.error().message.find("no HTTP/1.1 answer"), std::string::npos);
}

TEST_F(Http, AServerThatIsSilentIsNotWaitedForForever) {
  Held held;
  serve(held.handler());
  auto impatient = Client::open(path_, Duration(50'000));
  ASSERT_TRUE(impatient);
  const auto answer = impatient->request("GET", "/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::Io);
  EXPECT_EQ(answer.error().message,
            path_ + ": berthd is there and has not answered for 0.05 seconds");
  held.take();
}

TEST(Escape, OnlyWhatIsPlainStays) {
  EXPECT_EQ(escape("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(escape("a b/c?d=e&f+g%"), "a%20b%2Fc%3Fd%3De%26f%2Bg%25");
  EXPECT_EQ(escape("\xC3\xA4\n"), "%C3%A4%0A");
}

TEST_F(Http, WhatIsEscapedComesBack) {
  serve_echo();
  std::string value;
  for (int i = 1; i < 256; ++i) value.push_back(static_cast<char>(i));
  const auto answer = client().request("GET", "/?k=" + escape(value));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "GET /\nk=" + value + "\n");
}

TEST(RequestParameter, IsTheFirstOfItsName) {
  const Request request = {.query = {{"a", "1"}, {"b", ""}, {"a", "2"}}};
  EXPECT_EQ(request.parameter("a"), "1");
  EXPECT_EQ(request.parameter("b"), "");
  EXPECT_EQ(request.parameter("c"), std::nullopt);
}

std::string events_of(std::initializer_list<std::string_view> pieces) {
  std::string all;
  EventReader reader;
  for (const std::string_view piece : pieces) {
    reader.add(piece,
               [&](const ServerEvent& event) { all += "[" + event.name + "|" + event.data + "]"; });
  }
  return all;
}

constexpr std::string_view kEvents =
    ": a comment\n\n"
    "event: started\ndata: {\"job\":1}\n\n"
    "data:one\r\ndata: two\r\nid: 7\r\n\r\n"
    "event: without data\n\n"
    "data\n\n"
    "data:  spaced \n\n\n"
    "event: unfinished\ndata: never\n";
constexpr std::string_view kExpected = "[started|{\"job\":1}][|one\ntwo][|][| spaced ]";

TEST(EventReader, EventsCutAnywhere) {
  EXPECT_EQ(events_of({kEvents}), kExpected);
  for (std::size_t i = 0; i <= kEvents.size(); ++i) {
    for (std::size_t j = i; j <= kEvents.size(); ++j) {
      const auto first = kEvents.substr(0, i);
      EXPECT_EQ(events_of({first, kEvents.substr(i, j - i), kEvents.substr(j)}), kExpected)
          << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace berth::http::test
