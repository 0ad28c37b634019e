"""A small carrier of short messages by HTTP. Messages come as JSON; receipts and messages from people are posted as forms.
What comes is said on standard output, one JSON object a line; what comes on standard input is done: a verb and name=value a
line, with tabs between. It ends with its input.

POST /v1/messages {"to", "from", "text", "ref", "receipts", "inbound"}, Authorization: Bearer sesame
  -> 200 {"messages": [{"id": "c-N", "status": "queued"}]}, and a receipt: delivered, or failed for a number that ends with 3
  -> 200 {"messages": [{"status": "invalid_number", "error": "no such number"}]} for a number that ends with 9
say  from=NUMBER  text=WORDS   a person writes to the number of the last message
"""

import itertools
import json
import sys
import threading
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOCK = threading.Lock()
NUMBERS = itertools.count(1)
LAST = {}


def say(event, **fields):
    with LOCK:
        print(json.dumps({"event": event, **fields}), flush=True)


def post(url, fields):
    data = urllib.parse.urlencode(fields).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=data)) as answer:
            say("posted", url=url, status=answer.status)
    except urllib.error.HTTPError as error:
        say("posted", url=url, status=error.code)


class Carrier(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.headers.get("authorization") != "Bearer sesame":
            return self.answer(401, {"error": "who are you"})
        message = json.loads(body)
        if message["to"].endswith("9"):
            return self.answer(200, {"messages": [{"status": "invalid_number", "error": "no such number"}]})
        message_id = f"c-{next(NUMBERS)}"
        LAST.update(message)
        say("message", id=message_id, message=message)
        self.answer(200, {"messages": [{"id": message_id, "status": "queued"}]})
        state = "failed" if message["to"].endswith("3") else "delivered"
        receipt = (message["receipts"], {"messageId": message_id, "status": state, "to": message["to"]})
        return threading.Thread(target=post, args=receipt, daemon=True).start()

    def do_OPTIONS(self):
        self.answer(200, {})

    def answer(self, status, said):
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def main():
    options = dict(word.split("=", 1) for word in sys.argv[1:])
    server = Server(("127.0.0.1", int(options.get("port", "0"))), Carrier)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say("listening", port=server.server_address[1])
    for line in sys.stdin:
        verb, *words = line.rstrip("\n").split("\t")
        fields = dict(word.split("=", 1) for word in words)
        if verb == "say":
            post(LAST["inbound"], {"msisdn": fields["from"], "to": LAST["from"], "message": fields["text"]})


main()
