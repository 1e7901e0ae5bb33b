// Goal: what is no proper request, too large, too slow or too much is refused with a reason and a
// closed connection, and harms no other client.
// Method: bytes written by hand to a real socket, with small limits.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "http/rig.hpp"

namespace berth::http::test {
namespace {

constexpr std::string_view kHost = "Host: a\r\n";

class Refusal : public Http {
 protected:
  /// All that comes back for these bytes, which must end with the server closing.
  std::string answer_to(std::string_view bytes) {
    RawPeer peer(path_);
    peer.send(bytes);
    return peer.receive_all();
  }

  void expect_refused(std::string_view bytes, int status, const std::string& reason) {
    const std::string answer = answer_to(bytes);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + std::to_string(status) + " ")) << answer;
    EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos) << answer;
    EXPECT_NE(answer.find("\r\n\r\n{\"error\":\""), std::string::npos) << answer;
    EXPECT_NE(answer.find(reason), std::string::npos) << answer;
    EXPECT_EQ(client().request("GET", "/")->status, 200);
  }
};

std::string post(std::string_view fields, std::string_view rest = "") {
  return "POST / HTTP/1.1\r\n" + std::string(fields) + "\r\n" + std::string(rest);
}

TEST_F(Refusal, NoHostOrTwo) {
  serve_echo();
  expect_refused(post(""), 400, "no Host field");
  expect_refused(post("Host: a\r\nHost: b\r\n"), 400, "two Host fields");
}

TEST_F(Refusal, ChunkedInHttp10) {
  serve_echo();
  expect_refused("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
                 "chunked is not part of HTTP/1.0");
}

TEST_F(Refusal, BodiesOfTwoMinds) {
  serve_echo();
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const std::string host(kHost);
  for (const std::string& fields :
       {host + "Content-Length: 5\r\nContent-Length: 6\r\n", host + "Content-Length: -1\r\n",
        host + "Content-Length: 5, 6\r\n", host + "Content-Length: 99999999999999999999\r\n",
        host + chunked + "Content-Length: 5\r\n", host + "Content-Length: 5\r\n" + chunked,
        host + chunked + chunked, host + "Transfer-Encoding: gzip\r\n",
        host + "Transfer-Encoding: gzip, chunked\r\n"}) {
    SCOPED_TRACE(fields);
    expect_refused(post(fields, "0\r\n\r\n"), 400, "error");
  }
}

TEST_F(Refusal, Garbage) {
  serve_echo();
  std::string all_bytes;
  for (int i = 0; i < 256; ++i) all_bytes.push_back(static_cast<char>(i));
  for (const std::string& bytes :
       {std::string("\x16\x03\x01\x02\x01\x01\x01\x01\xfc\x03\x03"), std::string("hello\r\n\r\n"),
        std::string("GET /\r\n\r\n"), std::string("GET / HTTP/2.0\r\n\r\n"), all_bytes,
        std::string("GET  / HTTP/1.1\r\n\r\n"), std::string("GET / HTTP/1.1\nHost: a\n\n"),
        std::string("GET / HTTP/1.1\r\nHost : a\r\n\r\n")}) {
    expect_refused(bytes, 400, "no HTTP/1.1 request");
  }
  expect_refused("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400, "'*' does not begin with '/'");
  expect_refused(post("Host: a\r\nTransfer-Encoding: chunked\r\n", "zz\r\n"), 400, "chunk");
}

TEST_F(Refusal, AHeaderBeyondItsLimit) {
  serve_echo({.header = 1000});
  const std::string field(990, 'x');
  expect_refused("GET /" + std::string(1000, 'x') + " HTTP/1.1\r\n", 431, "1000 bytes");
  expect_refused("GET / HTTP/1.1\r\nHost: a\r\nX: " + field + "\r\n\r\n", 431, "1000 bytes");
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 100; ++i) many += "Field: value\r\n";
  expect_refused(many, 431, "1000 bytes");
  const std::string extension = "1;" + std::string(2000, 'x');
  expect_refused(post("Host: a\r\nTransfer-Encoding: chunked\r\n", extension), 431, "1000 bytes");
  const auto fits = client().request("GET", "/" + std::string(900, 'x'));
  EXPECT_EQ(fits->status, 200);
}

TEST_F(Refusal, ABodyBeyondItsLimit) {
  serve_echo({.body = 1000});
  const std::string host(kHost);
  expect_refused(post(host + "Content-Length: 1001\r\n"), 413, "1000 bytes");
  const std::string chunked = host + "Transfer-Encoding: chunked\r\n";
  const std::string chunk = "200\r\n" + std::string(0x200, 'x') + "\r\n";
  expect_refused(post(chunked, chunk + chunk), 413, "1000 bytes");
  EXPECT_EQ(client().request("POST", "/", std::string(1000, 'x'))->status, 200);
}

TEST_F(Refusal, ThePeerSeesWhyWhileItIsStillSending) {
  serve_echo({.body = 1'000'000});
  Client peer = client();
  const auto answer = peer.request("POST", "/", std::string(1'900'000, 'x'));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 413);
  const auto next = peer.request("GET", "/");
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, ErrorCode::Io);
  EXPECT_EQ(peer.descriptor(), -1);
}

TEST_F(Refusal, HalfARequestAndThenSilence) {
  serve_echo({.request = Duration(50'000)});
  expect_refused("GET / HTTP/1.1\r\nHo", 408, "after 0.05 seconds");
  expect_refused(post("Host: a\r\nContent-Length: 5\r\n", "abc"), 408, "after 0.05 seconds");
  expect_refused("\r\n", 408, "after 0.05 seconds");
}

TEST_F(Refusal, AnIdleConnectionIsClosed) {
  serve_echo({.idle = Duration(50'000)});
  RawPeer peer(path_);
  EXPECT_EQ(peer.receive_all(), "");
  RawPeer kept(path_);
  kept.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(kept.receive_all().ends_with("GET /\n"));
}

TEST_F(Refusal, APeerThatTakesNothingIsClosed) {
  serve(
      [](const std::shared_ptr<Exchange>& given) {
        const std::size_t size = given->request().path == "/large" ? 4'000'000 : 1;
        given->respond({.body = std::string(size, 'x')});
      },
      {.connections = 1, .idle = Duration(50'000)});
  RawPeer deaf(path_);
  deaf.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(eventually([&] {  // its place is free again
    Client next = client();
    const auto answer = next.request("GET", "/");
    return answer && answer->status == 200;
  }));
}

TEST_F(Refusal, ConnectionsBeyondTheirLimit) {
  serve_echo({.connections = 2});
  Client first = client();
  auto second = std::make_unique<Client>(client());
  ASSERT_TRUE(first.request("GET", "/"));
  ASSERT_TRUE(second->request("GET", "/"));
  RawPeer third(path_);
  const std::string refused = third.receive_all();
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
  EXPECT_NE(refused.find("there are 2 connections"), std::string::npos) << refused;
  EXPECT_EQ(client().request("POST", "/", "{}")->status, 503);
  second.reset();
  EXPECT_TRUE(eventually([&] { return client().request("GET", "/")->status == 200; }));
  EXPECT_TRUE(first.request("GET", "/"));
}

/// Connections of several users; only root can make them.
class Crowd : public Refusal {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be other users";
    ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
    auto opened = Server::open({.path = path_, .mode = 0666, .limits = {.connections = 4}},
                               [](const auto& exchange) { exchange->respond(echo(*exchange)); });
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
  }

  /// One that has been answered, and waits. The system call changes this thread's user alone.
  RawPeer connect_as(uid_t user) {
    EXPECT_EQ(syscall(SYS_setresuid, -1, user, -1), 0);
    RawPeer peer(path_);
    EXPECT_EQ(syscall(SYS_setresuid, -1, 0, -1), 0);
    peer.send(kGet);
    answer_ = peer.receive_until("GET /\n");
    return peer;
  }
  bool was_served() const { return answer_.starts_with("HTTP/1.1 200 "); }

  static constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  std::string answer_;  ///< To the one that connected last.
};

TEST_F(Crowd, AUserWithFewPushesOutTheIdlestOfWhoHasMost) {
  std::vector<RawPeer> greedy;
  for (int i = 0; i < 4; ++i) greedy.push_back(connect_as(1001));
  greedy[0].send(kGet);  // now the second one is idle for longest
  EXPECT_FALSE(greedy[0].receive_until("GET /\n").empty());
  RawPeer other = connect_as(1002);
  EXPECT_TRUE(was_served());
  EXPECT_EQ(greedy[1].receive_all(), "");
  connect_as(1001);
  EXPECT_NE(answer_.find("there are 4 connections, which is the limit"), std::string::npos);
  for (const std::size_t kept : {0U, 2U, 3U}) {
    greedy[kept].send(kGet);
    EXPECT_FALSE(greedy[kept].receive_until("GET /\n").empty());
  }
}

TEST_F(Crowd, RootHasAlwaysRoom) {
  std::vector<RawPeer> all;
  for (uid_t user = 1001; user <= 1004; ++user) all.push_back(connect_as(user));
  connect_as(1005);
  EXPECT_FALSE(was_served());
  std::vector<RawPeer> roots;
  for (int i = 0; i < 4; ++i) roots.push_back(connect_as(0));
  EXPECT_TRUE(was_served());
  connect_as(1001);
  EXPECT_FALSE(was_served());  // root's are not pushed out
}

TEST_F(Refusal, OneUsersConnectionsBeyondTheirLimit) {
  serve_echo({.per_user = 2});
  Client first = client();
  auto second = std::make_unique<Client>(client());
  ASSERT_TRUE(first.request("GET", "/"));
  ASSERT_TRUE(second->request("GET", "/"));
  const std::string refused = RawPeer(path_).receive_all();
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
  const std::string reason = "uid " + std::to_string(getuid()) +
                             " has 2 connections, which is the limit for one user; close some";
  EXPECT_NE(refused.find(reason), std::string::npos) << refused;
  second.reset();
  EXPECT_TRUE(eventually([&] { return client().request("GET", "/")->status == 200; }));
  EXPECT_TRUE(first.request("GET", "/"));
}

TEST_F(Refusal, OneUsersRequestsBeyondTheirLimit) {
  serve_echo({.unanswered = 1000});
  RawPeer first(path_);
  const std::string much = "Host: a\r\nX: " + std::string(700, 'x') + "\r\n";
  first.send(post(much + "Expect: 100-Continue\r\nContent-Length: 3\r\n"));
  first.receive_until("\r\n\r\n");  // its header has been read
  RawPeer second(path_);
  second.send(post(much + "Content-Length: 3\r\n", "def"));
  const std::string refused = second.receive_all();
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
  const std::string reason =
      "uid " + std::to_string(getuid()) +
      " has more than 1000 bytes of requests and of answers that it does not take here";
  EXPECT_NE(refused.find(reason), std::string::npos) << refused;
  first.send("abc");
  EXPECT_TRUE(first.receive_until("abc").ends_with("POST /\nabc"));
  RawPeer third(path_);  // the first is answered
  third.send(post(much + "Content-Length: 3\r\n", "ghi"));
  EXPECT_TRUE(third.receive_until("ghi").ends_with("POST /\nghi"));
}

/// Who asks for much and reads nothing would fill the memory of the server.
TEST_F(Refusal, OneUsersAnswersBeyondTheirLimit) {
  constexpr std::size_t kMuch = 4'000'000;  // more than a socket takes
  serve(
      [](const std::shared_ptr<Exchange>& exchange) {
        exchange->respond({.body = std::string(kMuch, 'x') + "end"});
      },
      {.unanswered = 2 * kMuch + 10'000});
  const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  RawPeer first(path_);
  RawPeer second(path_);
  for (RawPeer* const peer : {&first, &second}) {
    peer->send(get);
    EXPECT_TRUE(peer->receive_until("\r\n\r\n").starts_with("HTTP/1.1 200 "));
  }
  RawPeer third(path_);
  third.send(get);
  const std::string refused = third.receive_all();
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused.substr(0, 500);
  EXPECT_EQ(first.receive_until("end").size(), kMuch + 3) << "the others are whole";
  RawPeer fourth(path_);
  fourth.send(get);
  EXPECT_TRUE(fourth.receive_until("\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

TEST_F(Refusal, OnlyABodyThatIsWelcomeIsAskedFor) {
  serve_echo({.body = 1000});
  RawPeer peer(path_);
  const std::string expects = "Host: a\r\nExpect: 100-Continue\r\nContent-Length: ";
  peer.send(post(expects + "3\r\n"));
  EXPECT_EQ(peer.receive_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.send("abc");
  EXPECT_TRUE(peer.receive_until("abc").ends_with("POST /\nabc"));
  peer.send(post(expects + "3\r\n", "def"));  // it does not wait
  EXPECT_TRUE(peer.receive_until("def").starts_with("HTTP/1.1 200 "));
  expect_refused(post(expects + "1001\r\n"), 413, "1000 bytes");
}

TEST(ErrorBody, IsJsonWhateverTheMessageIs) {
  EXPECT_EQ(error_body("job 42: is gone"), R"({"error":"job 42: is gone"})");
  EXPECT_EQ(error_body("\"a\\b\"\n\x01"), R"({"error":"\"a\\b\"\n\u0001"})");
  EXPECT_EQ(error_body("x\xFFy"), "{\"error\":\"x\xEF\xBF\xBDy\"}");
}

}  // namespace
}  // namespace berth::http::test
