// A server of Telegram's bot API made of npm's telegram-test-api. What the bot writes is said on standard output, one JSON
// object a line; what comes on standard input a person does: a verb and name=value a line, with tabs between. Its options
// are arguments, name=value.
'use strict';

const readline = require('readline');
const TelegramServer = require('telegram-test-api').TelegramServer || require('telegram-test-api');

const fieldsOf = (words) => Object.fromEntries(words.map((word) => {
  const at = word.indexOf('=');
  return [word.slice(0, at), word.slice(at + 1)];
}));
const options = fieldsOf(process.argv.slice(2));
const say = (event) => process.stdout.write(JSON.stringify(event) + '\n');
// The id of its only bot.
const BOT = 666;

const server = new TelegramServer({ port: Number(options.port), host: '127.0.0.1', storeTimeout: 3600 });
let told = 0;

function tellMessages() {
  const messages = server.storage.botMessages;
  for (; told < messages.length; told += 1) {
    const { message, messageId } = messages[told];
    const rows = (message.reply_markup && message.reply_markup.inline_keyboard) || [];
    const buttons = Object.fromEntries(rows.flat().map((button) => [button.text, button.callback_data]));
    say({ event: 'message', chat: String(message.chat_id), text: message.text, id: String(messageId), buttons });
  }
}
server.on('AddedBotMessage', tellMessages);

const person = (chat) => server.getClient(options.token, { userId: Number(chat), chatId: Number(chat) });
const verbs = {
  say: ({ chat, text }) => person(chat).sendMessage(person(chat).makeMessage(text)),
  reply: ({ chat, to, text }) => {
    const replied = { reply_to_message: { message_id: Number(to), from: { id: BOT, is_bot: true } } };
    return person(chat).sendMessage(person(chat).makeMessage(text, replied));
  },
  press: ({ chat, data }) => person(chat).sendCallback(person(chat).makeCallbackQuery(data)),
};

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const [verb, ...fields] = line.split('\t');
  verbs[verb](fieldsOf(fields)).catch((error) => say({ event: 'failed', error: String(error) }));
}).on('close', () => process.exit(0));

server.start().then(() => say({ event: 'listening' }));
