//! A bare blocking server: a thread for each connection, a parser by hand, one lock around a map. What a
//! server with nothing else to do reaches on this machine: ours is compared with it.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

const READ_OCTETS: usize = 64 * 1024;
/// A topic keeps so many of its newest messages.
const KEPT: usize = 100_000;

#[derive(Default)]
struct FloorTopic {
    /// The first message's index.
    first: u64,
    messages: VecDeque<Box<[u8]>>,
}

type Topics = Mutex<HashMap<Vec<u8>, FloorTopic>>;

/// Listens until the process ends.
///
/// # Errors
/// No port, or no thread.
pub(crate) fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let topics: Arc<Topics> = Arc::default();
    std::thread::Builder::new().name("floor".to_owned()).spawn(move || {
        for stream in listener.incoming().flatten() {
            let topics = Arc::clone(&topics);
            // Who breaks off gets no replies: that is where it is told.
            std::thread::spawn(move || converse(stream, &topics));
        }
    })?;
    Ok(address)
}

fn converse(mut stream: TcpStream, topics: &Topics) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut input, mut filled, mut output) = (vec![0; READ_OCTETS], 0, Vec::new());
    loop {
        let read = stream.read(&mut input[filled..])?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        let mut used = 0;
        while let Some(end) = input[used..filled].iter().position(|octet| *octet == 0) {
            answer(&input[used..used + end], topics, &mut output);
            used += end + 1;
        }
        input.copy_within(used..filled, 0);
        filled -= used;
        stream.write_all(&output)?;
        output.clear();
    }
}

fn answer(request: &[u8], topics: &Topics, output: &mut Vec<u8>) {
    let mut topics = topics.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(rest) = request.strip_prefix(b"POST") {
        let hash = rest.iter().position(|octet| *octet == b'#').unwrap_or(rest.len());
        let message = rest.get(hash + 1..).unwrap_or_default();
        if !topics.contains_key(&rest[..hash]) {
            topics.insert(rest[..hash].to_vec(), FloorTopic::default());
        }
        if let Some(topic) = topics.get_mut(&rest[..hash]) {
            topic.messages.push_back(message.into());
            let _ = write!(output, "{}", topic.first + topic.messages.len() as u64 - 1);
            if topic.messages.len() > KEPT {
                topic.messages.pop_front();
                topic.first += 1;
            }
        }
    } else if let Some(rest) = request.strip_prefix(b"READ") {
        let hash = rest.iter().position(|octet| *octet == b'#').unwrap_or(rest.len());
        let digits = rest.get(hash + 1..).unwrap_or_default();
        let index = digits.iter().fold(0u64, |number, digit| number * 10 + u64::from(digit - b'0'));
        let found = topics
            .get(&rest[..hash])
            .and_then(|topic| topic.messages.get(usize::try_from(index.checked_sub(topic.first)?).ok()?));
        output.extend_from_slice(found.map_or(&b""[..], |message| message));
    }
    output.push(0);
}
