"""Messages from people, and receipts, that the SMSC hands to Kannel, so that it calls the platform back."""

# Each escape between brackets, so that an empty one shows.
ESCAPES = "kssrSabetTpPqQiIdRNDAFnocCmMuBofvVx"
PATTERN = "/mo?" + "&".join(f"{i}{c}=[%{c}]" for i, c in enumerate(ESCAPES)) + "&pc=[%%]&other=[%z]&tlv=[%#smpp#x#]&last=%"

INBOUND = [
    {"name": "words", "source": [1, 1, "46701234567"], "dest": [0, 1, "7001"], "data_coding": 0, "octets": b"Yes  we can* come & go".hex()},
    {"name": "one word", "source": [2, 1, "0701234567"], "dest": [0, 1, "7001"], "data_coding": 0, "octets": b"STOP".hex()},
    {"name": "nothing", "source": [1, 1, "46701234567"], "dest": [0, 1, "7001"], "data_coding": 0, "octets": ""},
    {"name": "a number with 00", "source": [0, 0, "0046701234567"], "dest": [0, 0, "00467001"], "data_coding": 0, "octets": b"Hi".hex()},
    {"name": "UCS-2", "source": [1, 1, "46701234567"], "dest": [1, 1, "467001"], "data_coding": 8, "octets": "Grüße Привет".encode("utf-16-be").hex()},
    {"name": "the GSM alphabet", "source": [1, 1, "46701234567"], "dest": [1, 1, "467001"], "data_coding": 0, "octets": "007e1e1b65"},
    {"name": "octets with a header", "source": [1, 1, "46701234567"], "dest": [1, 1, "467001"], "data_coding": 4, "esm_class": 64, "octets": "0605040b8423f00102ff20"},
    {"name": "a sender of letters", "source": [5, 0, "Bank"], "dest": [1, 1, "467001"], "data_coding": 0, "octets": b"Hi there".hex()},
]

REPORT = "/dlr?d=%d&A=%A&a=%a&F=%F&R=%R&p=%p&P=%P&i=%i&n=%n&D=%D&o=%o&t=%t&k=%k&b=%b&c=%c&I=%I&B=%B&C=%C"
DELIVERED = {"stat": "DELIVRD", "err": "000"}

REPORTS = [
    {"name": "everything, delivered", "mask": 31, "dlr_url": REPORT, "receipts": [DELIVERED]},
    {"name": "with an account and meta-data", "mask": 31, "dlr_url": REPORT, "more": "account=water&meta-data=%3Fsmpp%3Fa%3Db", "receipts": [DELIVERED]},
    {"name": "delivered alone", "mask": 1, "dlr_url": "/dlr?d=%d", "receipts": [DELIVERED]},
    {"name": "failed alone, delivered", "mask": 2, "dlr_url": "/dlr?d=%d", "receipts": [DELIVERED]},
    {"name": "undeliverable", "mask": 31, "dlr_url": "/dlr?d=%d&A=%A", "receipts": [{"stat": "UNDELIV", "err": "011"}]},
    {"name": "expired", "mask": 31, "dlr_url": "/dlr?d=%d&A=%A", "receipts": [{"stat": "EXPIRED", "err": "001"}]},
    {"name": "rejected by the network", "mask": 31, "dlr_url": "/dlr?d=%d&A=%A", "receipts": [{"stat": "REJECTD", "err": "099"}]},
    {"name": "deleted", "mask": 31, "dlr_url": "/dlr?d=%d", "receipts": [{"stat": "DELETED", "err": "000"}]},
    {"name": "unknown", "mask": 31, "dlr_url": "/dlr?d=%d", "receipts": [{"stat": "UNKNOWN", "err": "000"}]},
    {"name": "under way, then delivered", "mask": 31, "dlr_url": "/dlr?d=%d", "receipts": [{"stat": "ENROUTE", "err": "000"}, DELIVERED]},
    {"name": "accepted by the network, then delivered", "mask": 31, "dlr_url": "/dlr?d=%d", "receipts": [{"stat": "ACCEPTD", "err": "000"}, DELIVERED]},
    {"name": "refused by the SMSC", "mask": 31, "dlr_url": "/dlr?d=%d&A=%A&F=%F", "command_status": 0x0B},
    {"name": "refused by the SMSC, nobody asked", "mask": 3, "dlr_url": "/dlr?d=%d", "command_status": 0x0B},
    {"name": "refused by the SMSC, delivered alone asked for", "mask": 1, "dlr_url": "/dlr?d=%d", "command_status": 0x0B},
    {"name": "refused by the SMSC, failed alone asked for", "mask": 2, "dlr_url": "/dlr?d=%d", "command_status": 0x0B},
    {"name": "refused by the SMSC, refused alone asked for", "mask": 16, "dlr_url": "/dlr?d=%d", "command_status": 0x0B},
    {"name": "refused by the SMSC, accepted alone asked for", "mask": 8, "dlr_url": "/dlr?d=%d", "command_status": 0x0B},
    {"name": "no route", "mask": 3, "dlr_url": "/dlr?d=%d&A=%A&F=%F&p=%p", "to": "9991"},
    {"name": "accepted alone", "mask": 8, "dlr_url": "/dlr?d=%d&A=%A&F=%F", "receipts": [DELIVERED]},
    {"name": "a mask of nothing", "mask": 0, "dlr_url": "/dlr?d=%d", "receipts": [DELIVERED]},
    {"name": "an address without escapes", "mask": 1, "dlr_url": "/dlr", "receipts": [DELIVERED]},
    {"name": "an address with escapes of its own", "mask": 1, "dlr_url": "/dlr?x=%2541&y=%41&z=%%41&d=%d", "receipts": [DELIVERED]},
]


def address(parts):
    ton, npi, addr = parts
    return bytes([ton, npi]) + addr.encode("latin-1") + b"\0"


def deliver_sm(case):
    octets = bytes.fromhex(case["octets"])
    head = b"\0" + address(case["source"]) + address(case["dest"])
    return head + bytes([case.get("esm_class", 0), 0, 0]) + b"\0\0" + bytes([0, 0, case["data_coding"], 0, len(octets)]) + octets


def receipt(case, carrier_id):
    text = f"id:{carrier_id} sub:001 dlvrd:001 submit date:2611210000 done date:2611210001 stat:{case['stat']} err:{case['err']} text:Hello"
    body = {"source": [1, 1, "46701234567"], "dest": [0, 1, "7001"], "esm_class": 4, "data_coding": 0, "octets": text.encode().hex()}
    return deliver_sm(body)
