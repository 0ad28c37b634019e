// An ESME made of npm's smpp package. What happens is said on standard output, one JSON object a line; what comes on
// standard input is done: a verb and name=value a line, with tabs between. Its options are arguments, name=value.
'use strict';

const readline = require('readline');
const smpp = require('smpp');

const fieldsOf = (words) => Object.fromEntries(words.map((word) => {
  const at = word.indexOf('=');
  return [word.slice(0, at), word.slice(at + 1)];
}));
const options = Object.assign({ mode: 'transceiver', version: '34' }, fieldsOf(process.argv.slice(2)));
const say = (event) => process.stdout.write(JSON.stringify(event) + '\n');
const number = (digits) => ({ ton: 1, npi: 1, digits: digits || '' });

const session = smpp.connect({ url: `smpp://127.0.0.1:${options.port}`, auto_enquire_link_period: 10000 }, () => {
  session[`bind_${options.mode}`](
    { system_id: options.system_id, password: options.password, interface_version: parseInt(options.version, 16) },
    (pdu) => say(pdu.command_status === 0
      ? { event: 'bound', peer: pdu.system_id, version: pdu.sc_interface_version }
      : { event: 'refused', status: pdu.command_status }),
  );
});
session.on('close', () => say({ event: 'closed' }));
session.on('error', (error) => say({ event: 'failed', error: String(error) }));
session.on('unbind', (pdu) => {
  say({ event: 'unbind' });
  session.send(pdu.response());
});
session.on('enquire_link', (pdu) => session.send(pdu.response()));

function delivered(pdu) {
  const text = pdu.message_payload || pdu.short_message;
  const { udh, message } = Buffer.isBuffer(text) ? { udh: undefined, message: text.toString('hex') } : text;
  const about = { from: pdu.source_addr, to: pdu.destination_addr };
  if (pdu.esm_class & 0x04) {
    const fields = fieldsOf(message.split(' ').filter((word) => word.includes(':')).map((word) => word.replace(':', '=')));
    say({
      event: 'receipt', id: fields.id, stat: fields.stat, err: fields.err, tlv_id: pdu.receipted_message_id,
      tlv_state: pdu.message_state, text: message, ...about,
    });
  } else {
    say({
      event: 'inbound', coding: pdu.data_coding, esm_class: pdu.esm_class, text: message,
      udh: udh ? udh.map((element) => element.toString('hex')) : [], ...about,
    });
  }
  session.send(pdu.response());
}
session.on('deliver_sm', delivered);
session.on('data_sm', delivered);

// What stands in most requests.
function between(fields) {
  const [from, to] = [number(fields.from), number(fields.to)];
  return {
    source_addr_ton: from.ton, source_addr_npi: from.npi, source_addr: from.digits,
    dest_addr_ton: to.ton, dest_addr_npi: to.npi, destination_addr: to.digits,
  };
}

function written(fields) {
  const pdu = { registered_delivery: Number(fields.receipt || 0), priority_flag: Number(fields.priority || 0) };
  if (fields.coding !== undefined) pdu.data_coding = Number(fields.coding);
  if (fields.schedule) pdu.schedule_delivery_time = fields.schedule;
  if (fields.validity) pdu.validity_period = fields.validity;
  return pdu;
}

const requests = {
  submit: (fields) => ['submit_sm', Object.assign(between(fields), written(fields),
    fields.long === 'payload' ? { message_payload: fields.text } : { short_message: fields.text })],
  multi: (fields) => {
    const { dest_addr_ton, dest_addr_npi, destination_addr, ...pdu } = between(fields);
    const dest_address = destination_addr.split(',').map((digits) => ({ dest_addr_ton, dest_addr_npi, destination_addr: digits }));
    return ['submit_multi', Object.assign(pdu, written(fields), { dest_address, short_message: fields.text })];
  },
  data: (fields) => ['data_sm', Object.assign(between(fields), written(fields), { message_payload: fields.text })],
  query: (fields) => ['query_sm', { message_id: fields.id, ...between(fields) }],
  cancel: (fields) => ['cancel_sm', { message_id: fields.id, ...between(fields) }],
  replace: (fields) => ['replace_sm', { message_id: fields.id, ...between(fields), registered_delivery: 1, short_message: fields.text }],
  enquire: () => ['enquire_link', {}],
  unbind: () => ['unbind', {}],
};

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const [verb, ...words] = line.split('\t');
  const fields = fieldsOf(words);
  const [command, pdu] = requests[verb](fields);
  session[command](pdu, (answer) => say({
    event: 'answered', tag: fields.tag, status: answer.command_status, id: answer.message_id,
    code: answer.message_state, final: answer.final_date || undefined, command: answer.command,
    refused: answer.unsuccess_sme ? answer.unsuccess_sme.length : undefined,
  }));
}).on('close', () => process.exit(0));
