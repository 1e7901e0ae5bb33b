// Goal: requests reach the handler as they were meant, and answers the peer, one for one, in order,
// from whatever thread.
// Method: a server on a real socket; our client, or bytes written by hand.
#include <thread>

#include "http/rig.hpp"

namespace berth::http::test {
namespace {

TEST_F(Http, MethodsAndBodies) {
  serve_echo();
  Client peer = client();
  for (const std::string method : {"GET", "POST", "PUT", "PATCH", "DELETE", "PURGE"}) {
    const auto answer = peer.request(method, "/v1/jobs", "{}");
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->content_type, "text/plain");
    EXPECT_EQ(answer->body, method + " /v1/jobs\n{}");
  }
}

TEST_F(Http, ALargeBodyThereAndBack) {
  serve_echo();
  std::string body(5'000'000, 'x');
  for (std::size_t i = 0; i < body.size(); i += 1000) body[i] = static_cast<char>(i / 1000);
  const auto answer = client().request("POST", "/", body);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->body == "POST /\n" + body);
}

/// What was made of it may be as large, and an answer may take long.
TEST_F(Http, ABodyThatWasTakenIsNotKept) {
  serve([](const std::shared_ptr<Exchange>& exchange) {
    const std::string body = exchange->take_body();
    exchange->respond({.status = 200, .body = body + exchange->request().body});
  });
  const auto answer = client().request("POST", "/", "once");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "once");
}

TEST_F(Http, PathAndQueryAreDecoded) {
  serve_echo();
  const auto answer =
      client().request("GET", "/a%20b/%C3%A4+/../c?user=ann%2Blee&x=1+2&flag&&empty=&%3D=%26");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "GET /a b/\xC3\xA4+/../c\nuser=ann+lee\nx=1 2\nflag=\nempty=\n==&\n");
}

TEST_F(Http, BadEscapesAreRefused) {
  serve_echo();
  for (const std::string target : {"/%", "/%4", "/%zz", "/a%00b", "/?q=%G1", "/?%=1"}) {
    const auto answer = client().request("GET", target);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 400) << target;
    EXPECT_NE(answer->body.find("is not an escape"), std::string::npos) << answer->body;
  }
}

TEST_F(Http, TheHeaderOfAnAnswer) {
  serve([](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.status = 201, .body = "{}"});
  });
  RawPeer peer(path_);
  peer.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(peer.receive_all(),
            "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
            "Connection: close\r\nCache-Control: no-store\r\n\r\n{}");
}

TEST_F(Http, HeadHasTheHeaderOnly) {
  serve_echo();
  Client peer = client();
  const auto answer = peer.request("HEAD", "/x");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "");
  EXPECT_EQ(peer.request("GET", "/y")->body, "GET /y\n");  // the connection is in step
}

TEST_F(Http, AnAnswerWithoutContentHasNoBody) {
  serve([](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.status = 204, .body = "lost"});
  });
  Client peer = client();
  for (int i = 0; i < 2; ++i) {
    const auto answer = peer.request("DELETE", "/x");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 204);
    EXPECT_EQ(answer->body, "");
  }
}

TEST_F(Http, TheConnectionIsKept) {
  serve_echo();
  Client peer = client();
  const int descriptor = peer.descriptor();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(peer.request("POST", "/", std::to_string(i)));
  EXPECT_EQ(peer.descriptor(), descriptor);
}

TEST_F(Http, OldClientsAreKeptIfTheyAsk) {
  serve_echo();
  RawPeer peer(path_);
  peer.send("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const std::string kept = peer.receive_until("GET /1\n");
  EXPECT_NE(kept.find("\r\nConnection: keep-alive\r\n"), std::string::npos) << kept;
  peer.send("GET /2 HTTP/1.0\r\n\r\n");
  const std::string last = peer.receive_all();
  EXPECT_NE(last.find("\r\nConnection: close\r\n"), std::string::npos) << last;
  EXPECT_TRUE(last.ends_with("GET /2\n")) << last;
}

TEST_F(Http, PipelinedRequestsAreAnsweredInOrder) {
  serve_echo();
  RawPeer peer(path_);
  std::string requests;
  for (int i = 0; i < 1000; ++i) {
    requests += "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n.";
  }
  std::thread sender([&] { peer.send(requests); });
  for (int i = 0; i < 1000; ++i) {
    const std::string expected = "POST /" + std::to_string(i) + "\n.";
    const std::string answer = peer.receive_until("\n.");
    EXPECT_TRUE(answer.ends_with(expected)) << answer;
  }
  sender.join();
}

TEST_F(Http, ThePipelinedSecondWaitsForTheFirstAnswer) {
  Held held;
  serve(held.handler());
  RawPeer peer(path_);
  peer.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
  for (const std::string path : {"/1", "/2"}) {
    const auto exchange = held.take();
    ASSERT_NE(exchange, nullptr);
    EXPECT_EQ(exchange->request().path, path);
    exchange->respond({.body = "answer to " + path});
    EXPECT_TRUE(peer.receive_until("to " + path).ends_with("answer to " + path));
  }
}

TEST_F(Http, ARequestInSmallPieces) {
  serve_echo();
  RawPeer peer(path_);
  const std::string request =
      "\r\nPOST /a?b=c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nHost: trailer\r\n\r\n";
  for (const char c : request) ASSERT_TRUE(peer.send({&c, 1}));
  EXPECT_TRUE(peer.receive_until("de").ends_with("POST /a\nb=c\nabcde"));
}

TEST_F(Http, AnswersFromAnotherThread) {
  Held held;
  serve(held.handler());
  std::thread worker([&] {
    for (int i = 0; i < 20; ++i) {
      const auto exchange = held.take();
      if (exchange) exchange->respond(echo(*exchange));
    }
  });
  Client peer = client();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(peer.request("POST", "/", std::to_string(i))->body, "POST /\n" + std::to_string(i));
  }
  worker.join();
}

TEST_F(Http, ADroppedExchangeIsAnError) {
  serve([](const std::shared_ptr<Exchange>&) {});
  Client peer = client();
  const auto answer = peer.request("GET", "/");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 500);
  EXPECT_EQ(answer->body, error_body("no answer was given"));
  EXPECT_EQ(peer.request("GET", "/")->status, 500);
}

TEST_F(Http, OnlyTheFirstAnswerCounts) {
  serve([](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = "first"});
    exchange->respond({.body = "second"});
    EXPECT_FALSE(exchange->stream("text/plain")->write("third"));
  });
  Client peer = client();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(peer.request("GET", "/")->body, "first");
}

TEST_F(Http, AnAnswerAfterThePeerOrTheServerHasGoneIsDropped) {
  Held held;
  serve(held.handler());
  RawPeer first(path_);
  first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto without_peer = held.take();
  first.close();
  RawPeer second(path_);
  second.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto without_server = held.take();
  without_peer->respond({});
  server_.reset();
  without_server->respond({});
  const auto stream = without_server->stream("text/plain");
  EXPECT_FALSE(stream->is_open());
  EXPECT_EQ(second.receive_all(), "");
}

/// Nothing but the loop holds such a connection when it closes. What then touches it is seen by the
/// address sanitizer only.
TEST_F(Http, WhatHasEndedByTheTimeItIsTakenInIsClosedAtOnce) {
  std::atomic<bool> is_held = false;
  std::atomic<bool> goes_on = false;
  serve([&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/hold") {  // on the server's thread: it takes none in
      is_held = true;
      EXPECT_TRUE(eventually([&] { return goes_on.load(); }));
    }
    exchange->respond(echo(*exchange));
  });
  RawPeer holder(path_);
  holder.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return is_held.load(); }));
  for (const std::string_view bytes :
       {"", "GET /", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "hello\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    RawPeer(path_).send(bytes);  // and is gone
  }
  RawPeer half(path_);
  half.send("GET /half HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  half.finish_sending();
  goes_on = true;
  EXPECT_TRUE(half.receive_all().ends_with("GET /half\n"));
  EXPECT_TRUE(holder.receive_until("GET /hold\n").starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(client().request("GET", "/")->status, 200);
}

TEST_F(Http, APeerThatOnlyListensStillGetsItsAnswer) {
  Held held;
  serve(held.handler());
  RawPeer peer(path_);
  peer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  peer.finish_sending();
  held.take()->respond({.body = "late"});
  EXPECT_TRUE(peer.receive_all().ends_with("late"));
}

TEST_F(Http, ASlowPeerBlocksNobody) {
  serve_echo();
  RawPeer half(path_);
  half.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc");
  RawPeer deaf(path_);  // asks for more than the socket holds and reads nothing
  deaf.send("POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n" +
            std::string(4'000'000, 'x'));
  EXPECT_EQ(client().request("GET", "/")->body, "GET /\n");
}

TEST_F(Http, ManyConnectionsAtOnce) {
  serve_echo();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Client peer = client();
      for (int j = 0; j < 50; ++j) {
        const std::string body = std::to_string(i * 1000 + j);
        const auto answer = peer.request("POST", "/", body);
        if (answer && answer->body == "POST /\n" + body) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 400);
}

}  // namespace
}  // namespace berth::http::test
