#!/usr/bin/env python3
"""Puts the requests of cases.py to Debian's Kannel, and writes down what it answers and what reaches the SMSC behind it.

    tools/it/foreign/kannel/record.py        needs bearerbox and smsbox (Debian's package kannel)

Writes tools/it/tests/data/kannel_sendsms.json and kannel_callbacks.json. Everything listens on loopback, on free ports.
"""

import calendar
import http.server
import json
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import callbacks
import cases

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "tests" / "data"
QUIET_S = 0.06
START_S = 20


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait(what, condition, seconds=START_S):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"{what}: not after {seconds} s")
        time.sleep(0.01)


class Smsc:
    """Takes one client and keeps what it submits. `status` is what the next submissions are answered with."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.submitted, self.last, self.status, self.sequence, self.ids = [], 0.0, 0, 1, 0
        self.peer = None
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            peer, _ = self.listener.accept()
            threading.Thread(target=self.session, args=(peer,), daemon=True).start()

    def session(self, peer):
        stream = peer.makefile("rb")
        while head := stream.read(16):
            length, command, _, sequence = struct.unpack(">IIII", head)
            body = stream.read(length - 16)
            if command in (1, 2, 9):
                peer.sendall(pdu(command | 1 << 31, 0, sequence, b"sim\0"))
                self.peer = peer
            elif command == 4:
                self.ids += 1
                self.submitted.append(submit_sm(body))
                self.last = time.monotonic()
                answer = f"id{self.ids}\0".encode() if self.status == 0 else b"\0"
                peer.sendall(pdu(command | 1 << 31, self.status, sequence, answer))
            elif command < 1 << 31:
                peer.sendall(pdu(command | 1 << 31, 0, sequence, b""))

    def deliver(self, body):
        self.sequence += 1
        self.peer.sendall(pdu(5, 0, self.sequence, body))


def pdu(command, status, sequence, body):
    return struct.pack(">IIII", 16 + len(body), command, status, sequence) + body


def submit_sm(body):
    at = 0

    def text():
        nonlocal at
        end = body.index(0, at)
        out = body[at:end].decode("latin-1")
        at = end + 1
        return out

    def octet():
        nonlocal at
        at += 1
        return body[at - 1]

    out = {"service_type": text(), "source": [octet(), octet(), text()], "dest": [octet(), octet(), text()]}
    out |= {"esm_class": octet(), "protocol_id": octet(), "priority": octet()}
    out |= {"deferred_min": minutes(text()), "validity_min": minutes(text()), "registered_delivery": octet()}
    octet()
    out["data_coding"] = octet()
    octet()
    length = octet()
    user_data, tlvs = body[at : at + length], body[at + length :]
    if out["esm_class"] & 0x40:
        out["udh"], user_data = user_data[: user_data[0] + 1].hex(), user_data[user_data[0] + 1 :]
    out["octets"] = user_data.hex()
    if tlvs:
        out["tlvs"] = tlvs.hex()
    return out


def minutes(stamp):
    if not stamp:
        return None
    at = calendar.timegm(time.strptime(stamp[:12], "%y%m%d%H%M%S"))
    return round((at - time.time()) / 60)


class Listener:
    """Keeps the targets of the requests that come, as they are on the wire."""

    def __init__(self):
        self.heard = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.heard.append(self.path)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Kannel:
    def __init__(self, folder, smsc, callback):
        self.ports = {name: free_port() for name in ("ADMIN_PORT", "BOX_PORT", "SENDSMS_PORT")}
        values = {**self.ports, "SMSC_PORT": smsc.port, "CALLBACK": callback}
        config = (HERE / "kannel.conf").read_text()
        for name, value in values.items():
            config = config.replace(f"@{name}@", str(value))
        path = folder / "kannel.conf"
        path.write_text(config)
        self.programs = [self.start("/usr/sbin/bearerbox", folder, path)]
        wait("bearerbox", lambda: listens(self.ports["BOX_PORT"]))
        wait("its session with the SMSC", lambda: smsc.peer)
        self.programs.append(self.start("/usr/sbin/smsbox", folder, path))
        wait("smsbox", lambda: listens(self.ports["SENDSMS_PORT"]))
        # It answers before it has reached bearerbox.
        wait("smsbox's way to bearerbox", lambda: self.ask(cases.CASES[0])["status"] == 202)

    def start(self, program, folder, config):
        log = open(folder / (pathlib.Path(program).name + ".log"), "wb")
        return subprocess.Popen([program, str(config)], cwd=folder, stdout=log, stderr=log)

    def ask(self, case):
        body = case.get("body", "").encode("latin-1")
        headers = case.get("headers", [])
        lines = [f"{case['method']} {case['target']} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers]
        if case["method"] == "POST" and not any(name == "Content-Length" for name, _ in headers):
            lines.append(f"Content-Length: {len(body)}")
        with socket.create_connection(("127.0.0.1", self.ports["SENDSMS_PORT"]), timeout=5) as peer:
            peer.sendall("\r\n".join(lines + ["", ""]).encode("latin-1") + body)
            answer = b""
            try:
                while part := peer.recv(65536):
                    answer += part
            except TimeoutError:
                return {"status": None, "content_type": None, "body": "no answer in 5 s"}
        if not answer:
            return {"status": None, "content_type": None, "body": "closed without an answer"}
        head, _, said = answer.partition(b"\r\n\r\n")
        first, *rest = head.decode("latin-1").split("\r\n")
        found = dict(line.lower().split(": ", 1) for line in rest if ": " in line)
        return {"status": int(first.split()[1]), "content_type": found.get("content-type"), "body": said.decode("latin-1")}

    def stop(self):
        for program in reversed(self.programs):
            program.terminate()
        for program in self.programs:
            try:
                program.wait(10)
            except subprocess.TimeoutExpired:
                program.kill()


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def quiet(smsc):
    time.sleep(QUIET_S)
    while time.monotonic() - smsc.last < QUIET_S:
        time.sleep(0.01)


def record_sendsms(kannel, smsc):
    out = []
    for case in cases.CASES:
        smsc.submitted = []
        answer = kannel.ask(case)
        quiet(smsc)
        out.append({**case, "answer": answer, "sent": smsc.submitted})
        print(answer["status"], answer["body"], "|", case["name"], "|", len(smsc.submitted))
    return out


def record_callbacks(kannel, smsc, listener):
    def heard(act, seconds):
        listener.heard = []
        act()
        time.sleep(seconds)
        return sorted(listener.heard)

    inbound = []
    for case in callbacks.INBOUND:
        targets = heard(lambda: smsc.deliver(callbacks.deliver_sm(case)), 0.2)
        inbound.append({**case, "pattern": callbacks.PATTERN, "targets": targets})
    reports = []
    for case in callbacks.REPORTS:
        smsc.status, smsc.submitted = case.get("command_status", 0), []

        def act():
            url = f"http://127.0.0.1:{listener.port}{case['dlr_url']}"
            to = "to=" + case["to"] if "to" in case else cases.TO
            query = f"{cases.AUTH}&{to}&from=7001&text=Hello&dlr-mask={case['mask']}&" + case.get("more", "")
            target = f"/cgi-bin/sendsms?{query}&dlr-url={urllib.parse.quote(url, safe='')}"
            kannel.ask({"method": "GET", "target": target})
            quiet(smsc)
            for receipt in case.get("receipts", []):
                smsc.deliver(callbacks.receipt(receipt, f"id{smsc.ids}"))
                time.sleep(0.1)

        targets = heard(act, 0.3)
        # The port is another one each time, and shows in %R.
        targets = [target.replace(str(listener.port), "PORT").replace(f"id{smsc.ids}", "CARRIER-ID") for target in targets]
        reports.append({**case, "targets": targets})
        smsc.status = 0
    return {"inbound": inbound, "reports": reports}


def main():
    smsc, listener = Smsc(), Listener()
    with tempfile.TemporaryDirectory(prefix="campanile-kannel-") as folder:
        kannel = Kannel(pathlib.Path(folder), smsc, f"http://127.0.0.1:{listener.port}{callbacks.PATTERN}")
        try:
            smsc.submitted = []
            quiet(smsc)
            sendsms = record_sendsms(kannel, smsc)
            told = record_callbacks(kannel, smsc, listener)
        finally:
            kannel.stop()
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "kannel"], capture_output=True, text=True).stdout
    DATA.mkdir(exist_ok=True)
    for name, value in (("kannel_sendsms", sendsms), ("kannel_callbacks", told)):
        text = json.dumps({"recorded_from": f"kannel {version} (Debian)", "cases": value}, indent=1, ensure_ascii=True)
        (DATA / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
