//! Networks of instant messages: a homeserver of Matrix and Telegram's bot API behind one listener, for
//! drills, demonstrations, tests and benches.
//!
//! Both answer the calls that a gateway makes, with real octets over real sockets, and do as their
//! [`ImOptions`] say: latency, refusals, limits, people who read, answer and press buttons.

mod book;
mod homeserver;
mod http;
mod matrix;
mod options;
mod page;
mod telegram;

#[cfg(test)]
mod tests;

pub use book::{ArrivedMessage, ImStats};
pub use options::{ImManner, ImOptions};

use crate::agenda::Agenda;
use crate::behaviour::{Behaviour, Outage};
use crate::chance::Chance;
use crate::clock::Clock;
use crate::town::Conduct;
use book::Book;
use homeserver::Homeserver;
use http::{ApiReply, ApiRequest, JsonApi};
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use telegram::Chats;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

/// Running networks. Dropping them ends them and all their connections.
pub struct Messengers {
    shared: Arc<NetworkState>,
    address: SocketAddr,
    page: Option<SocketAddr>,
    /// Closes its listener.
    outage: Outage,
    /// As it was started.
    usual: ImOptions,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

/// What all connections share.
struct NetworkState {
    options: RwLock<Arc<ImOptions>>,
    book: Mutex<Book>,
    homeserver: Mutex<Homeserver>,
    chats: Mutex<Chats>,
    agenda: Agenda<PersonAction>,
    /// Something happened that a held answer may have.
    changed: Notify,
    /// Draws so far, for delays.
    draws: AtomicU64,
    /// Raised to cut all connections.
    cut: watch::Sender<u64>,
}

/// Something that a person does later.
enum PersonAction {
    Read(String),
    Say(String, String),
}

impl Messengers {
    /// Listens, on the runtime this is called in.
    ///
    /// # Errors
    /// Options that cannot be (`InvalidInput`), an address that is taken.
    pub async fn start(options: ImOptions) -> io::Result<Messengers> {
        options.check().map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let listener = TcpListener::bind(&options.listen).await?;
        let page = match &options.control {
            Some(address) => Some(TcpListener::bind(address).await?),
            None => None,
        };
        let (outage, usual) = (Outage::none(), options.clone());
        let clock = Clock::start();
        let shared = Arc::new(NetworkState {
            book: Mutex::new(Book::new(clock)),
            homeserver: Mutex::new(Homeserver::new(&options.server_name)),
            options: RwLock::new(Arc::new(options)),
            chats: Mutex::default(),
            agenda: Agenda::new(clock),
            changed: Notify::new(),
            draws: AtomicU64::new(0),
            cut: watch::Sender::new(0),
        });
        let address = listener.local_addr()?;
        let page_address = page.as_ref().map(TcpListener::local_addr).transpose()?;
        let calls = Arc::new(Calls(Arc::clone(&shared)));
        let listener = outage.over(listener, shared.cut.clone())?;
        let mut tasks = vec![
            tokio::spawn(http::serve(listener, calls, shared.cut.clone())),
            tokio::spawn(act(Arc::clone(&shared))),
        ];
        if let Some(page) = page {
            tasks.push(tokio::spawn(crate::page::serve(page, Arc::new(page::ImPage(Arc::clone(&shared))))));
        }
        Ok(Messengers { shared, address, page: page_address, outage, usual, tasks })
    }

    /// Where they listen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where their page is.
    pub fn page(&self) -> Option<SocketAddr> {
        self.page
    }

    /// What was counted so far.
    pub fn stats(&self) -> ImStats {
        self.shared.book().stats()
    }

    /// The last messages that were kept, the newest last.
    pub fn messages(&self, limit: usize) -> Vec<ArrivedMessage> {
        self.shared.book().messages(limit)
    }

    /// Does as these options say from the next message on. Addresses and the server's name stay.
    ///
    /// # Errors
    /// What cannot be, by its field.
    pub fn change(&self, options: ImOptions) -> Result<(), String> {
        options.check()?;
        *self.shared.options.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(options);
        Ok(())
    }

    /// Behaves otherwise from now on, until it is told to work. What [`Messengers::change`] said before
    /// counts no more.
    ///
    /// # Errors
    /// What cannot be.
    pub fn behave(&self, behaviour: Behaviour) -> Result<(), String> {
        self.change(self.usual.behaving(behaviour))?;
        self.outage.set(behaviour == Behaviour::Down);
        Ok(())
    }

    /// Cuts all connections. New ones are let in.
    pub fn disconnect(&self) {
        self.shared.cut.send_modify(|generation| *generation += 1);
    }

    /// The next so many messages are told to wait for so long.
    pub fn throttle(&self, count: u32, wait: Duration) {
        self.shared.book().throttle(count, wait.as_millis() as u64);
    }

    /// Whoever has the address wants no messages any more.
    pub fn block(&self, address: &str) {
        self.shared.book().block(address);
    }

    /// Somebody reads what they got; false without anything. (Telegram tells nobody.)
    pub fn read(&self, address: &str) -> bool {
        self.shared.read(address)
    }

    /// A person writes. In a room of several `from` is who does.
    pub fn say(&self, address: &str, text: &str) {
        self.shared.say(address, text);
    }

    /// A person replies to a message by its id.
    pub fn reply(&self, address: &str, to: &str, text: &str) {
        self.shared.reply(address, to, text);
    }

    /// A person reacts to a message by its id (Matrix).
    pub fn react(&self, address: &str, to: &str, key: &str) {
        let relates = json!({"rel_type": "m.annotation", "event_id": to, "key": key});
        self.shared.event(address, "m.reaction", json!({"m.relates_to": relates}), false);
    }

    /// A person presses a button of the last message that has some (Telegram); false without one.
    pub fn press(&self, address: &str, button: usize) -> bool {
        let pressed = chat_of(address).is_some_and(|chat| self.shared.chats().press(chat, button));
        self.shared.changed.notify_waiters();
        pressed
    }

    /// What people saw when they pressed a button.
    pub fn acknowledged(&self) -> Vec<Value> {
        self.shared.chats().acknowledged()
    }

    /// The room of an address is encrypted from now on; it is made where it is not there (Matrix).
    pub fn encrypt(&self, address: &str) {
        let room = self.shared.room(address);
        if let Some(room) = self.shared.homeserver().room_mut(&room) {
            room.is_encrypted = true;
        }
        let content = json!({"algorithm": "m.megolm.v1.aes-sha2"});
        self.shared.event(address, "m.room.encryption", content, true);
    }

    /// A person invites the account into a conversation of two, and writes there (Matrix).
    pub fn invite(&self, address: &str, text: &str) {
        let person = address.strip_prefix("matrix:").unwrap_or(address);
        self.shared.homeserver().invite_me(person);
        self.shared.say(address, text);
    }
}

impl Drop for Messengers {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
        self.disconnect();
    }
}

impl NetworkState {
    fn options(&self) -> Arc<ImOptions> {
        Arc::clone(&self.options.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn homeserver(&self) -> MutexGuard<'_, Homeserver> {
        self.homeserver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn chats(&self) -> MutexGuard<'_, Chats> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As long as an answer takes.
    async fn delay(&self) {
        let latency = self.options().latency;
        if !latency.is_none() {
            tokio::time::sleep(latency.at(self.draw())).await;
        }
    }

    fn draw(&self) -> f64 {
        Chance::new(0x696D, self.draws.fetch_add(1, Ordering::Relaxed)).unit()
    }

    /// Whether the person of an address wants no messages.
    fn refuses(&self, address: &str) -> bool {
        let options = self.options();
        let conduct = options.people.as_ref().map(|people| people.messenger(address));
        matches!(conduct, Some(Conduct::Refuses(_)))
    }

    /// A message arrived: it is counted, and its person does what they do.
    fn arrived(&self, message: ArrivedMessage, subject: &str) {
        let options = self.options();
        let address = message.address.clone();
        let at_us = message.at_us;
        self.book().take(options.keep, message, subject);
        self.changed.notify_waiters();
        let conduct = options.people.as_ref().map_or(Conduct::Silent, |people| people.messenger(&address));
        let read_us = at_us + options.read_after.at(self.draw()).as_micros() as u64;
        let reads = (read_us, PersonAction::Read(address.clone()));
        let said = |text: String, after: Duration| {
            (read_us + after.as_micros() as u64, PersonAction::Say(address.clone(), text))
        };
        let actions = match conduct {
            Conduct::Answers { text, after } => vec![reads, said(text, after)],
            Conduct::Stops { after } => vec![reads, said("STOP".to_owned(), after)],
            Conduct::Silent if options.receipts => vec![reads],
            _ => Vec::new(),
        };
        if !actions.is_empty() {
            self.agenda.put(actions.into_iter());
        }
    }

    fn read(&self, address: &str) -> bool {
        let Some(id) = address.strip_prefix("matrix:") else { return false };
        let mut homeserver = self.homeserver();
        let Some(room) = homeserver.room_of(id) else { return false };
        let reader = person(id);
        let was_read = homeserver.read(&room, &reader, None);
        drop(homeserver);
        self.changed.notify_waiters();
        was_read
    }

    fn say(&self, address: &str, text: &str) {
        match chat_of(address) {
            Some(chat) => self.chats().say(chat, text, None),
            None => self.event(address, "m.room.message", json!({"msgtype": "m.text", "body": text}), false),
        }
        self.changed.notify_waiters();
    }

    fn reply(&self, address: &str, to: &str, text: &str) {
        match chat_of(address) {
            Some(chat) => self.chats().say(chat, text, to.parse().ok()),
            None => {
                let relates = json!({"m.in_reply_to": {"event_id": to}});
                let content = json!({"msgtype": "m.text", "body": text, "m.relates_to": relates});
                self.event(address, "m.room.message", content, false);
            }
        }
        self.changed.notify_waiters();
    }

    fn event(&self, address: &str, kind: &str, content: Value, is_state: bool) {
        let room = self.room(address);
        let sender = person(address.strip_prefix("matrix:").unwrap_or(address));
        self.homeserver().add(&room, &sender, kind, content, is_state);
        self.changed.notify_waiters();
    }

    /// The room of an address, which is made where it is not there.
    fn room(&self, address: &str) -> String {
        let id = address.strip_prefix("matrix:").unwrap_or(address);
        let mut homeserver = self.homeserver();
        match homeserver.room_of(id) {
            Some(room) => room,
            None if id.starts_with('@') => homeserver.create(Some(id)),
            None => homeserver.join(id),
        }
    }
}

/// Who acts for an address: the person, or somebody in the room.
fn person(id: &str) -> String {
    if id.starts_with('@') { id.to_owned() } else { "@resident:sim.example".to_owned() }
}

/// The chat of an address of Telegram.
fn chat_of(address: &str) -> Option<i64> {
    address.strip_prefix("telegram:")?.parse().ok()
}

/// Does what people do later, for ever.
async fn act(shared: Arc<NetworkState>) {
    loop {
        for action in shared.agenda.ripe().await {
            match action {
                PersonAction::Read(address) => drop(shared.read(&address)),
                PersonAction::Say(address, text) => shared.say(&address, &text),
            }
        }
    }
}

/// Answers calls of either API.
struct Calls(Arc<NetworkState>);

impl JsonApi for Calls {
    async fn answer(&self, request: ApiRequest) -> ApiReply {
        let path = request.path.clone();
        let segments: Vec<&str> = path.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["_matrix", "client", "v3", rest @ ..] => matrix::answer(&self.0, rest, request).await,
            [bot, method] if bot.starts_with("bot") => {
                telegram::answer(&self.0, &bot[3..], method, request).await
            }
            _ => ApiReply { status: 404, body: json!({}) },
        }
    }
}

/// Runs the networks until the process is told to end (Ctrl-C), saying where they listen on standard output.
///
/// # Errors
/// As [`Messengers::start`].
pub fn run(options: ImOptions) -> io::Result<()> {
    crate::run_until_told(async move {
        let networks = Messengers::start(options).await?;
        let addresses = (networks.address(), networks.page());
        Ok((networks, addresses))
    })
}
