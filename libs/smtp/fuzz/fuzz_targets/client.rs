//! Any octets of a server, cut anywhere, to a client with or without STARTTLS and AUTH: one verdict for each
//! transaction, one end, nothing to write behind it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smtp::client::{ClientOptions, Input, SmtpClient, SmtpClientEvent, Timeouts, TlsMode, Transaction};
use smtp::path::Path;
use std::time::{Duration, Instant};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[choices, cut], rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let mut now = Instant::now();
    let mut client = SmtpClient::new(options(choices), now);
    if choices & 8 != 0 {
        // The session is open, so that the fuzzer need not find out how.
        let chunking = if choices & 16 != 0 { "250-CHUNKING\r\n" } else { "" };
        let hello = format!("220 fuzz\r\n250-fuzz\r\n250-PIPELINING\r\n{chunking}250 SIZE 99\r\n");
        client.handle_input(now, Input::Octets(hello.as_bytes()));
    }
    let mut book = Book::default();
    for piece in rest.chunks(1 + usize::from(cut)) {
        now += Duration::from_secs(u64::from(choices >> 5) * 10);
        client.handle_timeout(now);
        client.handle_input(now, Input::Octets(piece));
        book.take_events(&mut client, now);
        while client.room() > 0 {
            client.submit(now, book.next_transaction());
            // One that the server cannot take is refused at once.
            book.take_events(&mut client, now);
        }
        assert!(book.submitted - book.done.len() <= 4, "no more are in flight than the window");
        let pending = client.poll_transmit().len();
        client.handle_input(now, Input::Sent(pending.min(1 + usize::from(cut))));
        book.take_events(&mut client, now);
    }
    client.handle_input(now, Input::Lost("over"));
    book.take_events(&mut client, now);
    assert_eq!((book.done.len(), book.ends), (book.submitted, 1));
    assert!(client.poll_transmit().is_empty() && client.poll_timeout().is_none());
});

fn options(choices: u8) -> ClientOptions {
    ClientOptions {
        hello: "fuzz".to_owned(),
        tls: if choices & 1 != 0 { TlsMode::StartTls } else { TlsMode::None },
        credentials: (choices & 2 != 0).then(|| ("name".to_owned(), "password".to_owned())),
        window: if choices & 4 != 0 { 4 } else { 1 },
        timeouts: Timeouts::default(),
    }
}

#[derive(Default)]
struct Book {
    submitted: usize,
    done: Vec<u64>,
    ends: usize,
}

impl Book {
    fn next_transaction(&mut self) -> Transaction {
        let id = self.submitted as u64;
        self.submitted += 1;
        Transaction {
            id,
            from: Path::parse("a@b.test").expect("a path"),
            to: Path::parse(if id % 3 == 0 { "å@c.test" } else { "d@c.test" }).expect("a path"),
            envelope_id: String::new(),
            notify_success: id % 2 == 0,
            message: vec![b'.'; id as usize % 120],
        }
    }

    fn take_events(&mut self, client: &mut SmtpClient, now: Instant) {
        while let Some(event) = client.poll_event() {
            assert_eq!(self.ends, 0, "nothing follows the end");
            match event {
                SmtpClientEvent::StartTls => client.handle_input(now, Input::Secured),
                SmtpClientEvent::Ready(_) => {}
                SmtpClientEvent::Done { id, .. } => {
                    assert!(id < self.submitted as u64 && !self.done.contains(&id), "one verdict each");
                    self.done.push(id);
                }
                SmtpClientEvent::Closed(_) => self.ends += 1,
            }
        }
    }
}
