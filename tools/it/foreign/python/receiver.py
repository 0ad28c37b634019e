"""A receiver of webhooks, verified with standardwebhooks. What comes is said on standard output, one JSON object a line. Its
options are arguments, name=value; it ends with its standard input.

secret=whsec_…    verifies every request; what is wrong is refused with 401
cert=FILE key=FILE  listens with TLS
The path's first word says what is answered:
/deliver  {"state": "delivered"}        /answer   {"answer": "1"}
/later    nothing, then a report at receipt_url and an answer at reply_url
/gone     410                           /busy     503 with Retry-After, the first time
/quiet    nothing                       /moved    302
"""

import json
import ssl
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

LOCK = threading.Lock()
SEEN = set()
BUSY = set()


def say(event, **fields):
    with LOCK:
        print(json.dumps({"event": event, **fields}), flush=True)


def post(url, body):
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            say("posted", status=answer.status)
    except urllib.error.HTTPError as error:
        say("posted", status=error.code)


def report_later(message):
    post(message["receipt_url"], {"state": "delivered"})
    if message.get("reply_url"):
        post(message["reply_url"], {"answer": "1"})


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    webhook = None

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            message = self.webhook.verify(body, dict(self.headers.items()))
        except WebhookVerificationError as error:
            say("unsigned", why=str(error))
            return self.answer(401)
        message_id, kind = self.headers["webhook-id"], self.path.split("/")[1].split("?")[0]
        with LOCK:
            repeated = (self.path, message_id) in SEEN
            SEEN.add((self.path, message_id))
            busy = kind == "busy" and (self.path, message_id) not in BUSY
            BUSY.add((self.path, message_id))
        say("hook", path=self.path, id=message_id, repeated=repeated, message=message,
            headers={name.lower(): value for name, value in self.headers.items()})
        if kind == "gone":
            return self.answer(410)
        if kind == "moved":
            return self.answer(302, headers={"location": "http://127.0.0.1:1/"})
        if busy:
            return self.answer(503, headers={"retry-after": "1"})
        if kind == "later":
            self.answer(202)
            return threading.Thread(target=report_later, args=(message,), daemon=True).start()
        said = {"deliver": {"state": "delivered"}, "answer": {"answer": "1"}}.get(kind)
        return self.answer(200, said)

    def answer(self, status, said=None, headers=None):
        body = json.dumps(said).encode() if said else b""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        say("broken", why=repr(sys.exc_info()[1]))


def main():
    options = dict(word.split("=", 1) for word in sys.argv[1:])
    Receiver.webhook = Webhook(options["secret"])
    server = Server(("127.0.0.1", 0), Receiver)
    if "cert" in options:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options["cert"], options["key"])
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say("listening", port=server.server_address[1])
    sys.stdin.read()


main()
