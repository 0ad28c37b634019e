//! A bare server: reads what is there, walks each request, echoes three AVPs and writes once. A thread for
//! each core, and nothing kept. What a server with nothing to remember costs on this machine: ours is
//! compared with it.

use diameter::dictionary::{avp, command};
use diameter::frame::next_frame;
use diameter::header::MESSAGE_OCTETS_MAX;
use diameter::message::Message;
use diameter::write::Writer;
use rustix::event::epoll;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

const READ_OCTETS: usize = 256 * 1024;
const THREADS: usize = 2;

struct EventLoop {
    ready: OwnedFd,
    streams: Mutex<HashMap<u64, TcpStream>>,
}

/// Listens until the process ends.
///
/// # Errors
/// No port, or no thread.
pub(crate) fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let mut cores = Vec::new();
    for _ in 0..THREADS {
        let core = Arc::new(EventLoop {
            ready: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            streams: Mutex::default(),
        });
        let own = Arc::clone(&core);
        std::thread::Builder::new().name("floor".to_owned()).spawn(move || serve(&own))?;
        cores.push(core);
    }
    std::thread::Builder::new().name("floor-accept".to_owned()).spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let core = &cores[number % THREADS];
            // Whom it cannot serve hears nothing: that is where it is told.
            let _ = admit(core, number as u64, stream);
        }
    })?;
    Ok(address)
}

fn admit(core: &EventLoop, number: u64, stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut streams = core.streams.lock().unwrap_or_else(PoisonError::into_inner);
    epoll::add(&core.ready, &stream, epoll::EventData::new_u64(number), epoll::EventFlags::IN)?;
    streams.insert(number, stream);
    Ok(())
}

fn serve(core: &EventLoop) -> io::Result<()> {
    let mut kept: HashMap<u64, (TcpStream, Vec<u8>)> = HashMap::new();
    let (mut input, mut output) = (vec![0; READ_OCTETS], Vec::new());
    let mut events = Vec::with_capacity(64);
    loop {
        events.clear();
        epoll::wait(&core.ready, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let number = event.data.u64();
            if let std::collections::hash_map::Entry::Vacant(place) = kept.entry(number) {
                let stream = core.streams.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
                let Some(stream) = stream else { continue };
                place.insert((stream, Vec::new()));
            }
            let Some((stream, rest)) = kept.get_mut(&number) else { continue };
            if converse(stream, rest, &mut input, &mut output).is_err() {
                kept.remove(&number);
            }
        }
    }
}

fn converse(
    stream: &mut TcpStream,
    rest: &mut Vec<u8>,
    input: &mut [u8],
    output: &mut Vec<u8>,
) -> io::Result<()> {
    let before = rest.len();
    input[..before].copy_from_slice(rest);
    let read = stream.read(&mut input[before..])?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let (filled, mut used) = (before + read, 0);
    while let Some(frame) = next_frame(&input[used..filled], MESSAGE_OCTETS_MAX).map_err(io::Error::other)? {
        used += frame.len();
        answer(&Message::read(frame).map_err(io::Error::other)?, output);
    }
    rest.clear();
    rest.extend_from_slice(&input[used..filled]);
    stream.write_all(output)?;
    output.clear();
    Ok(())
}

/// Success, whatever was asked: what it was about is echoed.
pub(super) fn answer(request: &Message<'_>, output: &mut Vec<u8>) {
    let mut writer = Writer::answer(output, &request.header);
    for found in request.avps().flatten() {
        match found.name {
            avp::SESSION_ID => {
                writer.copy(&found);
                writer.u32(avp::RESULT_CODE, 2001);
            }
            avp::CC_REQUEST_TYPE | avp::CC_REQUEST_NUMBER => writer.copy(&found),
            // What the load verifies is there, as each asked for it.
            avp::REQUESTED_SERVICE_UNIT => writer.group(avp::GRANTED_SERVICE_UNIT, |unit| {
                found.group().flatten().for_each(|asked| unit.copy(&asked));
            }),
            _ => {}
        }
    }
    if request.header.command == command::CAPABILITIES_EXCHANGE {
        writer.u32(avp::RESULT_CODE, 2001);
    }
    writer.finish();
}
