"""Keeps GPUs full through `berth mcp`: submits jobs of drawn sizes, a new one for each that ends.

Usage: mcp_fill.py JOBS AT_ONCE -- BERTH MCP...
Prints the outcomes. A client to copy from: a request and an answer are one line each.
"""
import collections
import json
import random
import subprocess
import sys


class Server:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.number = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                "clientInfo": {"name": "mcp_fill", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self.number and "error" not in answer, answer
        return answer["result"]

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            sys.exit("%s: %s" % (tool, result["content"][0]["text"]))
        return json.loads(result["content"][0]["text"])


def main():
    total, at_once = int(sys.argv[1]), int(sys.argv[2])
    server = Server(sys.argv[4:])
    draw = random.Random(1)
    running, outcomes, most = [], collections.Counter(), 0
    for number in range(total):
        gib = draw.choice([3, 5, 7, 11])
        command = ["berth-load", "--vram", "%dG" % gib, "--steps", "10", "--report", "0"]
        vram = "%dG" % (gib + 1)
        job = server.call("submit", command=command, vram=vram, name="fill-%d" % number)
        running.append(job["id"])
        most = max(most, max(len(gpu["tenants"]) for gpu in server.call("gpus")["gpus"]))
        while len(running) >= at_once or (number == total - 1 and running):
            answer = server.call("wait", jobs=running, seconds=60)
            outcomes.update(job["state"] for job in answer["ended"])
            running = answer["others"]
    server.process.stdin.close()
    print(json.dumps({"outcomes": outcomes, "most_on_a_gpu": most}))
    sys.exit(server.process.wait())


if __name__ == "__main__":
    main()
