// An SMSC made of npm's smpp package: it takes binds and submissions, sends receipts and replies, and says what happened,
// one JSON object a line. Its options are JSON in its first argument; it ends when its standard input does.
'use strict';

const smpp = require('smpp');

const options = Object.assign(
  { password: 'secret', receipt_after_ms: 100, text_receipts: false, reply: null, reply_after_ms: 100 },
  JSON.parse(process.argv[2] || '{}'),
);

const say = (event) => process.stdout.write(JSON.stringify(event) + '\n');

// Like many carriers: hexadecimal in the answer to a submission, decimal in the receipt.
let last = 0x9f0000;

function date(when) {
  const two = (number) => String(number).padStart(2, '0');
  return two(when.getUTCFullYear() % 100) + two(when.getUTCMonth() + 1) + two(when.getUTCDate()) +
    two(when.getUTCHours()) + two(when.getUTCMinutes());
}

// Bound sessions that can be delivered to, by system_id: a client that comes back gets what waited for it.
const open = new Map();
const RETRY_MS = 100;

function deliver(systemId, event, fields, about) {
  const session = (open.get(systemId) || []).find((candidate) => !candidate.socket.destroyed);
  if (!session) {
    setTimeout(() => deliver(systemId, event, fields, about), RETRY_MS);
    return;
  }
  session.deliver_sm(fields, (answer) => say({ event, ...about, status: answer.command_status }));
}

// SMPP 3.4, Appendix B.
function receipt(systemId, pdu, id) {
  const now = new Date();
  const text = `id:${String(id).padStart(10, '0')} sub:001 dlvrd:001 submit date:${date(now)} done date:${date(now)} ` +
    'stat:DELIVRD err:000 text:';
  const fields = {
    esm_class: 0x04, source_addr_ton: pdu.dest_addr_ton, source_addr_npi: pdu.dest_addr_npi,
    source_addr: pdu.destination_addr, destination_addr: pdu.source_addr, short_message: text,
  };
  if (!options.text_receipts) {
    fields.receipted_message_id = id.toString(16);
    fields.message_state = 2;
  }
  deliver(systemId, 'receipt', fields, { id, to: pdu.destination_addr });
}

function reply(systemId, pdu) {
  const fields = {
    source_addr_ton: pdu.dest_addr_ton, source_addr_npi: pdu.dest_addr_npi,
    source_addr: pdu.destination_addr, destination_addr: pdu.source_addr, short_message: options.reply,
  };
  deliver(systemId, 'reply', fields, { to: pdu.source_addr, text: options.reply });
}

// A header of user data with its length in front (3GPP TS 23.040, 9.2.3.24).
function header(elements) {
  const octets = Buffer.concat(elements);
  return Buffer.concat([Buffer.from([octets.length]), octets]).toString('hex');
}

function submitted(session, systemId, pdu) {
  last += 1;
  const id = last;
  const { udh, message } = Buffer.isBuffer(pdu.short_message)
    ? { udh: undefined, message: pdu.short_message.toString('hex') }
    : pdu.short_message;
  say({
    event: 'submit', id, from: pdu.source_addr, to: pdu.destination_addr, ton: pdu.dest_addr_ton, npi: pdu.dest_addr_npi,
    coding: pdu.data_coding, esm_class: pdu.esm_class, registered: pdu.registered_delivery,
    udh: udh ? header(udh) : '', text: message,
  });
  session.send(pdu.response({ message_id: id.toString(16) }));
  if (!(pdu.registered_delivery & 1)) return;
  setTimeout(() => {
    receipt(systemId, pdu, id);
    if (options.reply !== null) setTimeout(() => reply(systemId, pdu), options.reply_after_ms);
  }, options.receipt_after_ms);
}

const server = smpp.createServer((session) => {
  let bound = null;
  for (const mode of ['bind_transceiver', 'bind_transmitter', 'bind_receiver']) {
    session.on(mode, (pdu) => {
      const accepted = pdu.password === options.password;
      say({ event: 'bind', mode, system_id: pdu.system_id, accepted });
      session.send(pdu.response(accepted ? { system_id: 'npm-smpp' } : { command_status: smpp.ESME_RINVPASWD }));
      if (!accepted) return;
      bound = pdu.system_id;
      if (mode !== 'bind_transmitter') open.set(bound, [...(open.get(bound) || []), session]);
    });
  }
  session.on('submit_sm', (pdu) => {
    if (bound !== null) submitted(session, bound, pdu);
    else session.send(pdu.response({ command_status: smpp.ESME_RINVBNDSTS }));
  });
  session.on('enquire_link', (pdu) => session.send(pdu.response()));
  session.on('unbind', (pdu) => {
    say({ event: 'unbind' });
    session.send(pdu.response());
    session.close();
  });
  session.on('close', () => {
    if (bound !== null) open.set(bound, (open.get(bound) || []).filter((other) => other !== session));
  });
  session.on('error', () => {});
});

server.listen(0, '127.0.0.1', () => say({ event: 'listening', port: server.address().port }));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
