//! Stories of SCTP alone: told inside the guest, where `sctp.rs` has these stories run.

use super::{ANN, Ocs, PATIENCE};
use diameter::avp::Address;
use diameter::dictionary::avp;
use it::credit::{CreditClient, SERVER_HOST, SERVER_REALM, UPDATE, cer, requested};
use it::transport::{PAYLOAD_PROTOCOL, by_sctp};
use it::{Server, eventually, free_port};
use rustix::net::{AddressFamily, RecvFlags, SocketType, ipproto, recv, socket};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::BTreeSet;
use std::fs::File;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Names the network in which a peer is at home that comes by two devices.
const BEYOND: &str = "CAMPANILE_IT_BEYOND";
/// A path that failed is left within this, by the kernel's own times (an RTO of 1 s, doubled a few times).
const FAILOVER_MAX: Duration = Duration::from_secs(20);

/// A DATA chunk that was sent (RFC 9260, section 3.3.1).
#[derive(Debug, PartialEq, Eq)]
struct Chunk {
    flags: u8,
    stream: u16,
    payload_protocol: u32,
    octets: usize,
    /// What its first octets say of their length, if they are Diameter's.
    diameter_octets: usize,
}

/// DATA chunks in an IP packet from this port.
fn chunks(packet: &[u8], port: u16) -> Vec<Chunk> {
    let word = |octets: &[u8], at: usize| u32::from_be_bytes(octets[at..at + 4].try_into().unwrap());
    let half = |octets: &[u8], at: usize| u16::from_be_bytes(octets[at..at + 2].try_into().unwrap());
    let sctp = &packet[usize::from(packet[0] & 15) * 4..];
    let mut found = Vec::new();
    let mut left = &sctp[12..];
    while half(sctp, 0) == port && left.len() >= 16 {
        let length = usize::from(half(left, 2));
        if left[0] == 0 {
            found.push(Chunk {
                flags: left[1] & 7,
                stream: half(left, 8),
                payload_protocol: word(left, 12),
                octets: length - 16,
                diameter_octets: (word(left, 16) & 0xFF_FFFF) as usize,
            });
        }
        left = left.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

/// Every SCTP packet of this machine from now on, seen beneath the kernel's SCTP.
fn packets() -> mpsc::Receiver<Vec<u8>> {
    let raw: OwnedFd = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::SCTP)).unwrap();
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 17];
        while let Ok((_, octets)) = recv(&raw, &mut buffer[..], RecvFlags::empty()) {
            if tell.send(buffer[..octets].to_vec()).is_err() {
                return;
            }
        }
    });
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "told inside the guest of charging::sctp, whose kernel has SCTP"]
async fn each_message_is_one_user_message_that_says_it_is_diameter() {
    const DEBITS: usize = 60;
    assert!(by_sctp());
    let ocs = Ocs::start("", "").await;
    ocs.fund(ANN, 1_000).await;
    let mut client = ocs.client("one.client.test");
    let packets = packets();
    // One user message with many of ours: a stream of octets to the server, and its answers go out in few
    // writes.
    let requests: Vec<u8> = (0..DEBITS).flat_map(|_| client.debit(ANN, 1).octets()).collect();
    client.send(&requests);
    for _ in 0..DEBITS {
        assert_eq!(client.answer().code(), 2001);
    }
    let (mut sent, mut carried) = (Vec::new(), 0);
    while sent.len() < DEBITS {
        let packet = packets.recv_timeout(PATIENCE).expect("each answer is on the wire");
        let chunks = chunks(&packet, ocs.port);
        carried += usize::from(!chunks.is_empty());
        sent.extend(chunks);
    }
    let mut streams = BTreeSet::new();
    for chunk in sent {
        let Chunk { octets, stream, .. } = chunk;
        // Begins and ends here, in order, on a stream of its session.
        let wanted =
            Chunk { flags: 3, stream, payload_protocol: PAYLOAD_PROTOCOL, octets, diameter_octets: octets };
        assert_eq!(chunk, wanted);
        streams.insert(stream);
    }
    assert!(streams.len() > 1 && !streams.contains(&0), "{streams:?}");
    println!("{DEBITS} answers in {carried} packets");
    assert!(carried < DEBITS, "answers that are written together share packets");
}

/// The DATA chunks of the next packet from this port that has some.
fn next_data(packets: &mpsc::Receiver<Vec<u8>>, port: u16) -> Vec<Chunk> {
    loop {
        let packet = packets.recv_timeout(PATIENCE).expect("each answer is on the wire");
        let data = chunks(&packet, port);
        if !data.is_empty() {
            return data;
        }
    }
}

/// Loses each packet that comes to this association with DATA of a stream, until it is taken off.
struct Loss<'s>(&'s TcpStream);

impl<'s> Loss<'s> {
    fn of(association: &'s TcpStream, stream: u16) -> Loss<'s> {
        // The program sees a packet from its first chunk on: the kernel has taken the SCTP header off. DATA
        // comes first, or behind a SACK of 16 octets; its type is its first octet, its stream stands at the
        // eighth. What is too short for that is let through.
        let (byte, half, length, is, over, gives) = (0x30, 0x28, 0x80, 0x15, 0x25, 0x06);
        let step =
            |code, value, then, otherwise| libc::sock_filter { code, jt: then, jf: otherwise, k: value };
        let mut program = [
            step(byte, 0, 0, 0),
            step(is, 0, 0, 2),
            step(half, 8, 0, 0),
            step(is, stream.into(), 7, 6),
            step(length, 0, 0, 0),
            step(over, 25, 0, 4),
            step(byte, 16, 0, 0),
            step(is, 0, 0, 2),
            step(half, 24, 0, 0),
            step(is, stream.into(), 1, 0),
            step(gives, u32::MAX, 0, 0),
            step(gives, 0, 0, 0),
        ];
        let whole = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // SAFETY: the pointer is to a whole `sock_fprog`, whose program lives until the call returns; the
        // kernel copies both (SO_ATTACH_FILTER, socket(7)).
        #[allow(unsafe_code)]
        let result = unsafe {
            libc::setsockopt(
                association.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const whole).cast(),
                size_of_val(&whole) as libc::socklen_t,
            )
        };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        Loss(association)
    }
}

impl Drop for Loss<'_> {
    fn drop(&mut self) {
        let nothing = 0_i32;
        // SAFETY: pointer and length are those of one number, which the kernel only reads (socket(7)).
        #[allow(unsafe_code)]
        let result = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_DETACH_FILTER,
                (&raw const nothing).cast(),
                size_of_val(&nothing) as libc::socklen_t,
            )
        };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "told inside the guest of charging::sctp, whose kernel has SCTP"]
async fn a_loss_on_the_stream_of_one_session_holds_up_no_other() {
    /// What is lost comes again after a second, and may share its packet with the answer to the other: on a
    /// machine that is too slow for the second.
    const TRIES: usize = 10;
    let ocs = Ocs::start("", "").await;
    ocs.fund(ANN, 1_000).await;
    let mut client = ocs.client("loss.client.test");
    let packets = packets();
    let begun = |client: &mut CreditClient| {
        let session = client.fresh_session();
        let first = client.initial(&session, ANN, 1);
        assert_eq!(client.ask(&first).code(), 2001);
        (session, next_data(&packets, ocs.port)[0].stream)
    };
    let (held_up, stream) = begun(&mut client);
    let (other, other_stream) = loop {
        let another = begun(&mut client);
        if another.1 != stream {
            break another;
        }
    };
    let update = |client: &mut CreditClient, session: &str| {
        client.credit(session, UPDATE, 1).with(|writer| requested(writer, 1))
    };
    let association = client.stream().try_clone().unwrap();
    for _ in 0..TRIES {
        let loss = Loss::of(&association, stream);
        let lost = update(&mut client, &held_up);
        client.send(&lost.octets());
        // Its answer has left by itself; the next one has a packet of its own.
        while next_data(&packets, ocs.port).iter().all(|chunk| chunk.stream != stream) {}
        let request = update(&mut client, &other);
        client.send(&request.octets());
        let together = loop {
            let data = next_data(&packets, ocs.port);
            if data.iter().any(|chunk| chunk.stream == other_stream) {
                break data.iter().any(|chunk| chunk.stream == stream);
            }
        };
        if together {
            drop(loss);
            for _ in 0..2 {
                assert_eq!(client.answer().code(), 2001);
            }
            continue;
        }
        // The other is answered while the loss stands.
        for (asked, loss) in [(&request, Some(loss)), (&lost, None)] {
            let answer = client.answer();
            assert_eq!(answer.message().header.hop_by_hop, asked.header.hop_by_hop);
            assert_eq!(answer.code(), 2001);
            drop(loss);
        }
        return;
    }
    panic!("what was lost came again in one packet with the other, {TRIES} times");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "told inside the guest of charging::sctp, whose kernel has SCTP"]
async fn a_message_longer_than_the_sockets_buffers_comes_in_parts_and_is_answered_whole() {
    let ocs = Ocs::start("", "").await;
    ocs.fund(ANN, 1_000).await;
    let mut client = ocs.client("long.client.test");
    for octets in [60_000, 300_000, 1_000_000] {
        let state = vec![7; octets];
        let request = client.debit(ANN, 1).with(|writer| {
            writer.group(avp::PROXY_INFO, |proxy| {
                proxy.identity(avp::PROXY_HOST, "proxy.test");
                proxy.octet_string(avp::PROXY_STATE, &state);
            });
        });
        let answer = client.ask(&request);
        assert_eq!(answer.code(), 2001);
        assert_eq!(answer.within(&[avp::PROXY_INFO, avp::PROXY_STATE]).unwrap().data, state);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "told inside the guest of charging::sctp, whose kernel has SCTP"]
async fn an_association_that_is_aborted_makes_room_for_the_next_of_its_name() {
    let ocs = Ocs::start("", "").await;
    ocs.fund(ANN, 1_000).await;
    for _ in 0..3 {
        let mut client = ocs.client("abort.client.test");
        let request = client.debit(ANN, 1).octets();
        client.send(&request);
        // Closed with an answer unread: the kernel aborts the association (RFC 6458, section 4.1.5).
        client.stream().peek(&mut [0]).unwrap();
        drop(client);
    }
    ocs.client("abort.client.test").works(ANN);
    assert_eq!(ocs.money(ANN).await, (996, 0, 4));
}

/// A connection from beyond, by both devices.
fn dial_from_beyond(remote: Vec<SocketAddr>) -> std::io::Result<TcpStream> {
    let here = |text: &str| text.parse::<SocketAddr>().unwrap();
    let local = [here("10.1.0.2:0"), here("10.2.0.2:0")];
    let dial = move || {
        let network = File::open(std::env::var(BEYOND).unwrap())?;
        // Of this thread only; the socket stays where it was made.
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
        net::dial_sctp(&remote, &local, PAYLOAD_PROTOCOL).map(TcpStream::from)
    };
    std::thread::spawn(dial).join().unwrap()
}

#[track_caller]
fn link(device: &str, state: &str) {
    let status = Command::new("ip").args(["link", "set", device, state]).status().unwrap();
    assert!(status.success(), "ip link set {device} {state}");
}

/// Debits one after the other for a while; how long the slowest took.
fn debits(client: &mut CreditClient, count: usize) -> Duration {
    let slowest = (0..count).map(|_| {
        let began = Instant::now();
        client.works(ANN);
        began.elapsed()
    });
    slowest.max().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "told inside the guest of charging::sctp, whose kernel has SCTP"]
async fn an_association_of_two_devices_goes_on_when_either_is_lost() {
    let port = free_port();
    let config = format!(
        "[diameter]\nlisten = \"127.0.0.1:{port}\"\nlisten_sctp = [\"10.1.0.1:{port}\", \"10.2.0.1:{port}\"]\n\
         origin_host = \"{SERVER_HOST}\"\norigin_realm = \"{SERVER_REALM}\"\n\
         [[diameter.peer]]\nrealm = \"client.test\"\nallowed_ips = [\"10.1.0.2\", \"10.2.0.2\"]\n[charging]\n"
    );
    let ocs = Ocs { server: Server::start(&config).await, port };
    ocs.fund(ANN, 1_000).await;
    let remote: Vec<SocketAddr> =
        ["10.1.0.1", "10.2.0.1"].map(|ip| SocketAddr::new(ip.parse::<IpAddr>().unwrap(), port)).to_vec();
    let stream = eventually("the server listens by SCTP", PATIENCE, async || {
        dial_from_beyond(remote.clone()).map_err(|error| error.to_string())
    })
    .await;
    let mut client = CreditClient::over(stream, "two.client.test").unwrap();
    let answer = client.ask(&cer("two.client.test"));
    assert_eq!(answer.code(), 2001);
    let told: Vec<_> = answer.all(avp::HOST_IP_ADDRESS).iter().map(|avp| avp.address().unwrap()).collect();
    assert_eq!(told, remote.iter().map(|one| Address::Ip(one.ip())).collect::<Vec<_>>());

    debits(&mut client, 10);
    for device in ["v1", "v2"] {
        both_paths_work().await;
        link(device, "down");
        let slowest = debits(&mut client, 10);
        println!("with {device} down the slowest debit took {} ms", slowest.as_millis());
        assert!(slowest < FAILOVER_MAX, "{slowest:?}");
        link(device, "up");
    }
    assert_eq!(ocs.money(ANN).await, (970, 0, 30));
}

/// Waits until the kernels of both ends call both paths active.
async fn both_paths_work() {
    const ACTIVE: &str = "2";
    let beyond = std::env::var(BEYOND).unwrap().replace("/ns/net", "/net/sctp/remaddr");
    for table in ["/proc/net/sctp/remaddr", &beyond] {
        eventually("both paths work", PATIENCE, async || {
            let text = std::fs::read_to_string(table).unwrap();
            let mut lines = text.lines();
            let place = lines.next().unwrap().split_whitespace().position(|name| name == "STATE").unwrap();
            let paths = lines.filter(|line| line.trim_start().starts_with("10."));
            let active = paths.filter(|line| line.split_whitespace().nth(place) == Some(ACTIVE)).count();
            if active == 2 { Ok(()) } else { Err(text) }
        })
        .await;
    }
}
