//! `campanile udp`: paced traffic on the command line.

mod args;
mod gaps;
mod page;
mod push;
mod receive;
mod send;
mod shown;

pub(crate) use args::Udp;

use super::{Failure, Outcome, print};
use paced_udp::control::ask;
use paced_udp::wire::Key;
use std::path::Path;

/// Does what was asked for.
pub(super) fn run(command: Udp) -> Outcome {
    match command {
        Udp::Send(send) => send::send(&send),
        Udp::Receive(receive) => match &receive.into {
            Some(folder) => push::take(&receive, folder),
            None => receive::receive(&receive),
        },
        Udp::Push(push) => push::push(&push),
        Udp::Set(args::Set::Rate(set)) => {
            ask(&set.control, &format!("rate {}", set.rate)).map_err(Failure::Failed).map(|_| ())
        }
        Udp::Show(show) => print(&(ask(&show.control, "view").map_err(Failure::Failed)? + "\n")),
    }
}

/// A number, or the first and the most: both, and whether it may change between them.
fn range(text: &str) -> Result<((usize, usize), bool), String> {
    let number = |text: &str| {
        text.parse::<usize>().map_err(|_| format!("{text} is not a number; use N or FIRST..MOST"))
    };
    match text.split_once("..") {
        Some((first, most)) => Ok(((number(first)?, number(most)?), true)),
        None => number(text).map(|fixed| ((fixed, fixed), false)),
    }
}

/// The key of a file; none without one.
fn key(file: Option<&Path>) -> Result<Key, Failure> {
    let Some(file) = file else { return Ok(Key::NONE) };
    let describe = |why: String| Failure::Failed(format!("--key-file {}: {why}", file.display()));
    let words = std::fs::read_to_string(file).map_err(|error| describe(error.to_string()))?;
    Key::from_words(&words).map_err(describe)
}

/// Calls `stop` once the process is asked to end.
fn on_interrupt(stop: impl FnOnce() + std::marker::Send + 'static) {
    // Without the thread an interrupt ends the process at once, and the other side by its silence.
    let _ = std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if runtime.is_ok_and(|runtime| runtime.block_on(tokio::signal::ctrl_c()).is_ok()) {
            stop();
        }
    });
}
