"""An ESME made of smpplib. What happens is said on standard output, one JSON object a line; what comes on standard input is
done: a verb and name=value a line, with tabs between. Its options are arguments, name=value; it ends with its input."""

import json
import logging
import select
import sys

import smpplib.client
import smpplib.consts
import smpplib.exceptions
import smpplib.gsm
import smpplib.smpp

NUMBER = {"ton": smpplib.consts.SMPP_TON_INTL, "npi": smpplib.consts.SMPP_NPI_ISDN}
CODINGS = {
    0: smpplib.consts.SMPP_ENCODING_DEFAULT,
    3: smpplib.consts.SMPP_ENCODING_ISO88591,
    8: smpplib.consts.SMPP_ENCODING_ISO10646,
}


def say(event, **fields):
    print(json.dumps({"event": event, **{k: v for k, v in fields.items() if v is not None}}), flush=True)


def options(words):
    return dict(word.split("=", 1) for word in words)


def words_of(value):
    return value.decode("latin-1") if isinstance(value, bytes) else value


def text_of(octets, coding):
    if coding == 8:
        return octets.decode("utf-16-be", "replace")
    if coding:
        return octets.decode("latin-1")
    out, table, escaped = "", smpplib.gsm.GSM_CHARACTER_TABLE, 0
    for octet in octets:
        if octet == 0x1B:
            escaped = 0x80
        else:
            out, escaped = out + table[octet + escaped], 0
    return out


class Esme:
    def __init__(self, given):
        self.tags = {}
        self.client = smpplib.client.Client("127.0.0.1", int(given["port"]), timeout=20, allow_unknown_opt_params=True)
        self.client.set_message_sent_handler(self.answered)
        self.client.set_query_resp_handler(self.answered)
        self.client.set_error_pdu_handler(self.answered)
        self.client.set_message_received_handler(self.delivered)
        self.client.connect()
        bind = getattr(self.client, "bind_" + given.get("mode", "transceiver"))
        version = int(given.get("version", "34"), 16)
        try:
            answer = bind(system_id=given["system_id"], password=given["password"], interface_version=version)
            say("bound", peer=words_of(answer.system_id))
        except smpplib.exceptions.PDUError as error:
            say("refused", status=error.args[1])
        except smpplib.exceptions.ConnectionError as error:
            say("refused", error=repr(error))

    def answered(self, pdu, **_):
        fields = {"tag": self.tags.get(pdu.sequence), "status": pdu.status}
        if pdu.command == "query_sm_resp" and not pdu.status:
            fields |= {"code": pdu.message_state, "final": words_of(pdu.final_date)}
        if getattr(pdu, "message_id", None):
            fields["id"] = words_of(pdu.message_id)
        say("answered", **fields)

    def delivered(self, pdu):
        octets = getattr(pdu, "message_payload", None) or pdu.short_message or b""
        about = {"from": words_of(pdu.source_addr), "to": words_of(pdu.destination_addr)}
        if pdu.esm_class & smpplib.consts.SMPP_MSGTYPE_DELIVERYACK or pdu.esm_class & 0x04:
            text = octets.decode("latin-1")
            fields = dict(word.split(":", 1) for word in text.split(" ") if ":" in word)
            tlv_id = words_of(getattr(pdu, "receipted_message_id", None))
            state = getattr(pdu, "message_state", None)
            say("receipt", id=fields.get("id"), stat=fields.get("stat"), err=fields.get("err"), tlv_id=tlv_id, tlv_state=state, text=text, **about)
            return
        header = octets[: 1 + octets[0]] if pdu.esm_class & 0x40 and octets else b""
        body = octets[len(header) :]
        say("inbound", coding=pdu.data_coding, esm_class=pdu.esm_class, udh=header.hex(), hex=body.hex(), text=text_of(body, pdu.data_coding), **about)

    def act(self, verb, fields):
        who = {"source_addr_ton": NUMBER["ton"], "source_addr_npi": NUMBER["npi"], "source_addr": fields.get("from")}
        if verb == "submit":
            who |= {"dest_addr_ton": NUMBER["ton"], "dest_addr_npi": NUMBER["npi"], "destination_addr": fields["to"]}
            coding = CODINGS[int(fields.get("coding", "0"))]
            # smpplib's own splitting.
            parts, coding, esm_class = smpplib.gsm.make_parts(fields["text"], coding)
            for part in parts:
                receipt = int(fields.get("receipt", "0"))
                pdu = self.client.send_message(
                    **who, data_coding=coding, esm_class=esm_class, short_message=part, registered_delivery=receipt
                )
                self.tags[pdu.sequence] = fields["tag"]
        elif verb == "query":
            self.tags[self.client.query_message(message_id=fields["id"], **who).sequence] = fields["tag"]
        elif verb == "unbind":
            self.client.unbind()
        else:
            say("failed", tag=fields.get("tag"), error="smpplib does not " + verb)

    def run(self):
        while True:
            readable, _, _ = select.select([sys.stdin, self.client._socket], [], [])
            if sys.stdin in readable:
                line = sys.stdin.readline()
                if not line:
                    return
                verb, *words = line.rstrip("\n").split("\t")
                self.act(verb, options(words))
            else:
                try:
                    self.client.read_once()
                except smpplib.exceptions.ConnectionError:
                    say("closed")
                    return


logging.disable()
esme = Esme(options(sys.argv[1:]))
esme.run()
esme.client.disconnect()
