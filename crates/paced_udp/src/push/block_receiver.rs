//! The receiver's thread for data: from the socket through the assembly to the disk, and reports in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use super::assembly::{Assembly, DatagramEffect};
use super::disk::{Growing, Trouble};
use super::manifest::Manifest;
use super::message::PushReason;
use super::udp::Receiver;

/// How often what lacks is told while data comes.
const REPORT_EVERY: Duration = Duration::from_millis(20);
/// And while none comes: a sign of life.
const REPORT_IDLE: Duration = Duration::from_millis(100);
/// When nothing came for this long, what is new is told at once.
const PATIENCE: Duration = Duration::from_millis(4);
/// Blocks that may come whole and wrong before the push is ended.
const WRONG_MAX: u32 = 8;

/// What the thread says.
pub enum ReceiverEvent {
    /// What lacks.
    Report(Vec<u8>),
    /// Every block is written.
    Whole(Box<Growing>),
    /// It cannot go on.
    Trouble(Trouble),
}

/// All that the thread needs.
pub struct BlockReceiver {
    /// What is pushed.
    pub manifest: Arc<Manifest>,
    /// What has come.
    pub assembly: Assembly,
    /// Where it goes.
    pub growing: Growing,
    /// Where it comes from.
    pub socket: Receiver,
    /// Set when nobody wants it any more.
    pub stop: Arc<AtomicBool>,
}

impl BlockReceiver {
    /// Runs until every block is written, it is stopped, or it cannot go on.
    pub fn run(mut self, say: &UnboundedSender<ReceiverEvent>) {
        let told = self.take_all(say);
        let _ = match told {
            Ok(true) => say.send(ReceiverEvent::Whole(Box::new(self.growing))),
            Ok(false) => Ok(()),
            Err(trouble) => say.send(ReceiverEvent::Trouble(trouble)),
        };
    }

    /// True when every block is written, false when stopped.
    fn take_all(&mut self, say: &UnboundedSender<ReceiverEvent>) -> Result<bool, Trouble> {
        let lost = |error| Trouble {
            reason: PushReason::Protocol,
            words: format!("the data socket fails: {error}"),
        };
        self.socket.set_patience(PATIENCE).map_err(lost)?;
        let (mut reported, mut news, mut wrong) = (Instant::now(), true, 0);
        while self.assembly.left() > 0 {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let came = self.socket.receive().map_err(lost)?;
            let waited = came.is_none();
            if let Some((octets, len)) = came {
                for datagram in octets.chunks(len) {
                    match self.assembly.take(datagram) {
                        DatagramEffect::Foreign => {}
                        DatagramEffect::Useless | DatagramEffect::Kept => news = true,
                        DatagramEffect::Whole(block) => {
                            news = true;
                            wrong += u32::from(!keep(
                                &self.manifest,
                                &mut self.assembly,
                                &mut self.growing,
                                block,
                            )?);
                        }
                    }
                }
            }
            if wrong > WRONG_MAX {
                let words = format!("{wrong} blocks came whole and wrong");
                return Err(Trouble { reason: PushReason::Tampered, words });
            }
            let age = reported.elapsed();
            let due = if !news {
                REPORT_IDLE
            } else if waited {
                PATIENCE
            } else {
                REPORT_EVERY
            };
            // What waits in the socket would seem lost to the sender; but it must hear from us.
            if age >= due && (age >= due * 2 || !self.socket.has_more()) {
                self.report(say);
                (reported, news) = (Instant::now(), false);
            }
        }
        self.report(say);
        Ok(true)
    }

    fn report(&self, say: &UnboundedSender<ReceiverEvent>) {
        let _ = say.send(ReceiverEvent::Report(self.assembly.report().write()));
    }
}

/// Checks and writes a whole block. False when it was wrong.
fn keep(
    manifest: &Manifest,
    assembly: &mut Assembly,
    growing: &mut Growing,
    block: u32,
) -> Result<bool, Trouble> {
    let octets = assembly.whole(block);
    if !manifest.holds(block, octets) {
        assembly.reject(block);
        return Ok(false);
    }
    growing.write(manifest.layout.offset(block), block, octets)?;
    assembly.finish(block);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::disk::FoundPart;
    use super::super::layout::{BLOCK_SIZE, SYMBOL_SIZE};
    use super::super::packet::{HEADER_LEN, SymbolHeader};
    use super::super::udp::Sender;
    use super::*;
    use std::net::Ipv4Addr;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    const TOKEN: u64 = 11;
    const BLOCKS: u32 = 10;
    const SYMBOLS: u32 = BLOCK_SIZE.div_ceil(SYMBOL_SIZE as u32);

    /// A thread that takes in a file of zeros, and how to write to it.
    fn start(
        folder: &tempfile::TempDir,
    ) -> (impl FnMut(u64, u32, u32, u8), UnboundedReceiver<ReceiverEvent>) {
        let file = tempfile::tempfile().unwrap();
        file.set_len(u64::from(BLOCKS) * u64::from(BLOCK_SIZE)).unwrap();
        let manifest =
            Arc::new(Manifest::of(&mut file.try_clone().unwrap(), "zeros".into(), usize::MAX).unwrap());
        let Ok(FoundPart::Part(growing, has)) = Growing::open(folder.path(), &manifest, false, 0) else {
            panic!("a new file")
        };
        let socket = Receiver::unicast(Ipv4Addr::LOCALHOST.into(), 0).unwrap();
        let to = (Ipv4Addr::LOCALHOST, socket.port().unwrap()).into();
        let assembly = Assembly::new(manifest.layout, TOKEN, has);
        let intake =
            BlockReceiver { manifest, assembly, growing, socket, stop: Arc::new(AtomicBool::new(false)) };
        let (say, words) = unbounded_channel();
        std::thread::spawn(move || intake.run(&say));
        let mut sender = Sender::open(false, None, 1).unwrap();
        let send = move |token, block, symbol, octet| {
            let mut datagram = vec![octet; HEADER_LEN + usize::from(SYMBOL_SIZE)];
            SymbolHeader { token, seq: block * SYMBOLS + symbol, block, symbol: symbol as u16 }
                .write(&mut datagram);
            sender.send(to, &datagram, datagram.len()).unwrap();
        };
        (send, words)
    }

    fn last(mut words: UnboundedReceiver<ReceiverEvent>) -> ReceiverEvent {
        std::iter::from_fn(|| words.blocking_recv()).last().unwrap()
    }

    #[test]
    fn who_does_not_know_the_token_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (mut send, words) = start(&folder);
        for block in 0..BLOCKS {
            (0..SYMBOLS).for_each(|symbol| send(TOKEN + 1, block, symbol, 5));
            (0..SYMBOLS).for_each(|symbol| send(TOKEN, block, symbol, 0));
        }
        assert!(matches!(last(words), ReceiverEvent::Whole(_)));
    }

    #[test]
    fn blocks_that_are_whole_and_wrong_end_the_push() {
        let folder = tempfile::tempdir().unwrap();
        let (mut send, words) = start(&folder);
        for block in 0..BLOCKS {
            (0..SYMBOLS).for_each(|symbol| send(TOKEN, block, symbol, 5));
        }
        assert!(matches!(last(words), ReceiverEvent::Trouble(Trouble { reason: PushReason::Tampered, .. })));
    }
}
