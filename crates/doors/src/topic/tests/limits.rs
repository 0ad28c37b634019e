use super::*;
use net::{TlsClient, TlsClientSettings, TlsServerSettings};
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// More than get threads of their own.
const CROWD: usize = 40;

#[test]
fn connections_move_between_threads_and_cores_as_others_come_and_go() {
    let test_door = TestDoor::open();
    let mut first = test_door.client().ending(b"\n");
    assert_eq!(first.ask("POST@t#0"), "0");
    let mut crowd: Vec<Client> = (0..CROWD).map(|_| test_door.client()).collect();
    for round in 0..3 {
        for (place, client) in crowd.iter_mut().enumerate() {
            let index = 1 + round * (CROWD + 1) + place;
            assert_eq!(client.ask(&format!("POST@t#{index}")), index.to_string());
        }
        // It keeps its framing wherever it is.
        let index = (round + 1) * (CROWD + 1);
        assert_eq!(first.ask(&format!("POST@t#{index}")), index.to_string());
    }
    crowd.truncate(2);
    for round in 0..200 {
        assert_eq!(first.ask(&format!("READ@t#{}", round % 100)), (round % 100).to_string());
        assert_eq!(crowd[round % 2].ask("READ@t#7"), "7");
    }
    // A begun request moves too.
    first.send(b"READ@t");
    let more: Vec<Client> = (0..CROWD).map(|_| test_door.client()).collect();
    assert_eq!(crowd[0].ask("COUNT@t"), (1 + 3 * (CROWD + 1)).to_string());
    first.send(b"#9");
    drop(more);
    assert_eq!(first.ask(""), "9");
}

#[test]
fn many_wait_for_one_disk_and_each_gets_an_index_of_its_own() {
    let test_door = TestDoor::open_with(TopicsConfig { durability: bus::Durability::Disk, ..config() });
    let address = test_door.address();
    let posting: Vec<_> = (0..CROWD)
        .map(|number| {
            std::thread::spawn(move || {
                let mut client = Client::connect(address);
                let post = |client: &mut Client, n: usize| client.ask(&format!("POST@t#{number}.{n}"));
                (0..10)
                    .map(|n| (post(&mut client, n).parse::<usize>().unwrap(), format!("{number}.{n}")))
                    .collect()
            })
        })
        .collect();
    let mut all: Vec<(usize, String)> =
        posting.into_iter().flat_map(|thread| -> Vec<_> { thread.join().unwrap() }).collect();
    all.sort();
    let mut client = test_door.client();
    for (place, (index, text)) in all.iter().enumerate() {
        assert_eq!((place, &client.ask(&format!("READ@t#{index}"))), (*index, text));
    }
    assert_eq!(all.len(), CROWD * 10);
}

#[test]
fn beyond_loopback_a_token_is_needed_first() {
    let anywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let test_door = TestDoor::open_with(TopicsConfig { listen: Some(anywhere), ..config() });
    let mut client = test_door.client();
    for request in ["LIST", "POST@t#x", "READ@t#0", "COUNT@t", "anything"] {
        assert_eq!(client.ask(request), "DENIED", "{request}");
    }
    assert_eq!(client.ask("AUTH@wrong"), "DENIED");
    assert_eq!(client.ask("AUTH@submit"), "OK");
    assert_eq!((client.ask("POST@t#x"), client.ask("READ@t#0")), ("0".to_owned(), "x".to_owned()));
    // A bad token later takes nothing away.
    assert_eq!((client.ask("AUTH@wrong"), client.ask("COUNT@t")), ("DENIED".to_owned(), "1".to_owned()));

    let mut viewer = test_door.client();
    assert_eq!(viewer.ask("AUTH@viewer"), "OK");
    assert_eq!((viewer.ask("READ@t#0"), viewer.ask("POST@t#y")), ("x".to_owned(), "DENIED".to_owned()));
    viewer.send(b"POST@t#1\0READ@t#0\0POST@t#2\0");
    assert_eq!([viewer.hear(), viewer.hear(), viewer.hear()], ["DENIED", "x", "DENIED"]);

    let mut guesser = test_door.client();
    guesser.send(b"AUTH@a\0AUTH@b\0AUTH@c\0AUTH@admin\0LIST\0");
    (0..3).for_each(|_| assert_eq!(guesser.hear(), "DENIED"));
    guesser.ends();
    assert_eq!(test_door.client().ask("EXIT"), "EXIT");
}

#[test]
fn a_session_ends_when_its_token_is_revoked_on_threads_and_on_cores() {
    let anywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    for crowd in [1, CROWD] {
        let test_door = TestDoor::open_with(TopicsConfig { listen: Some(anywhere), ..config() });
        let mut clients: Vec<Client> = (0..crowd).map(|_| test_door.client()).collect();
        for client in &mut clients {
            assert_eq!(
                (client.ask("AUTH@operator"), client.ask("COUNT@t")),
                ("OK".to_owned(), "0".to_owned())
            );
        }
        let mut other = test_door.client();
        assert_eq!(other.ask("AUTH@viewer"), "OK");
        test_door.live.end("operator");
        clients.into_iter().for_each(|mut client| client.ends());
        assert_eq!(other.ask("COUNT@t"), "0", "another token's stays");
    }
}

#[test]
fn who_shows_no_token_in_time_is_done_with() {
    let anywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let auth = Duration::from_secs(1);
    let test_door = TestDoor::open_with(TopicsConfig { listen: Some(anywhere), auth, ..config() });
    test_door.client().ends();
}

#[test]
fn silent_and_slow_clients_are_done_with_on_threads_and_on_cores() {
    let settings =
        TopicsConfig { idle: Some(Duration::from_secs(2)), request: Duration::from_secs(1), ..config() };
    let test_door = TestDoor::open_with(settings);
    for crowd in [0, CROWD] {
        let mut silent = test_door.client();
        let _crowd: Vec<Client> = (0..crowd).map(|_| test_door.client()).collect();
        let mut slow = test_door.client();
        // Where the machine stands still it may be done with already.
        let _ = slow.stream.write_all(b"LIS");
        slow.ends();
        silent.ends();
    }
}

#[test]
fn a_client_that_never_reads_is_done_with_and_takes_bounded_room() {
    let settings =
        TopicsConfig { write_stall: Duration::from_secs(1), message_octets_max: 60_000, ..config() };
    let test_door = TestDoor::open_with(settings);
    for crowd in [0, CROWD] {
        let mut other = test_door.client();
        let _crowd: Vec<Client> = (0..crowd).map(|_| test_door.client()).collect();
        assert!(!other.ask(&format!("POST@big#{}", "x".repeat(60_000))).is_empty());
        let mut deaf = test_door.client();
        let requests = b"READ@big#0\0".repeat(1_000);
        // It asks for far more than the system keeps for it, until the door gives it up.
        let mut asked = 0;
        while deaf.stream.write_all(&requests).is_ok() {
            asked += 1;
            assert!(asked < 100_000, "it is never given up");
        }
        assert_eq!(other.ask("COUNT@big").parse::<u64>().unwrap(), if crowd == 0 { 1 } else { 2 });
    }
}

#[test]
fn there_are_at_most_so_many_topics() {
    let test_door = TestDoor::open_with(TopicsConfig { topics_max: 2, ..config() });
    let mut client = test_door.client();
    assert_eq!((client.ask("POST@a#1"), client.ask("POST@b#1")), ("0".to_owned(), "0".to_owned()));
    assert_eq!(client.ask("POST@c#1"), "");
    client.send(b"POST@a#2\0POST@c#1\0POST@b#2\0");
    assert_eq!([client.hear(), client.hear(), client.hear()], ["1", "", "1"]);
    assert_eq!(client.ask("COUNT@c"), "0");
}

#[test]
fn the_oldest_connection_without_a_request_makes_room_on_threads_and_on_cores() {
    for places in [3, CROWD] {
        let limits = net::DoorLimits::new(places, places);
        let test_door = TestDoor::open_with(TopicsConfig { limits, ..config() });
        let mut crowd: Vec<Client> = (0..places).map(|_| test_door.client()).collect();
        crowd.iter_mut().for_each(|client| assert_eq!(client.ask("LIST"), ""));
        // Half a request is none.
        crowd[0].send(b"COUNT");
        let mut next = test_door.client();
        assert_eq!(next.ask("COUNT@x"), "0");
        crowd[0].ends();
        assert_eq!(crowd[1].ask("COUNT@x"), "0", "nobody else has to go");
    }
}

#[test]
fn who_showed_a_token_keeps_its_place_and_the_next_one_is_refused() {
    let anywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let limits = net::DoorLimits::new(2, 2);
    let test_door = TestDoor::open_with(TopicsConfig { listen: Some(anywhere), limits, ..config() });
    let (mut a, mut b) = (test_door.client(), test_door.client());
    assert_eq!((a.ask("AUTH@viewer"), b.ask("AUTH@viewer")), ("OK".to_owned(), "OK".to_owned()));
    test_door.client().ends();
    assert_eq!((a.ask("COUNT@x"), b.ask("COUNT@x")), ("0".to_owned(), "0".to_owned()));
}

#[test]
fn a_balancer_names_the_client_who_needs_a_token_if_it_comes_from_beyond_loopback() {
    let limits = net::DoorLimits {
        balancers: net::Balancers::new(vec!["127.0.0.0/8".parse().unwrap()]),
        ..net::DoorLimits::new(100, 100)
    };
    let test_door = TestDoor::open_with(TopicsConfig { limits, ..config() });
    for (client, answer) in [("127.0.0.1:9", "0"), ("203.0.113.7:9", "DENIED")] {
        let mut octets = Vec::new();
        proxy_protocol::write(client.parse().unwrap(), test_door.address(), &mut octets);
        let mut through = test_door.client();
        through.send(&octets);
        assert_eq!(through.ask("COUNT@x"), answer, "{client}");
    }
    let mut bare = test_door.client();
    bare.send(b"COUNT@x\0COUNT@x\0COUNT@x\0COUNT@x\0");
    bare.ends();
}

#[test]
fn exit_stops_the_server_where_that_is_configured() {
    let test_door = TestDoor::open_with(TopicsConfig { exit: Exit::Stop, ..config() });
    let mut exit = test_door.running.as_ref().unwrap().exit();
    assert!(!*exit.borrow_and_update());
    assert_eq!(test_door.client().ask("EXIT"), "EXIT");
    let waited = test_door.runtime.block_on(async { tokio::time::timeout(PATIENCE, exit.changed()).await });
    waited.unwrap().unwrap();
    assert!(*exit.borrow());

    let test_door = TestDoor::open();
    assert_eq!(test_door.client().ask("EXIT"), "EXIT");
    assert!(!*test_door.running.as_ref().unwrap().exit().borrow());
}

#[test]
fn a_stranger_s_exit_stops_nothing_beyond_loopback() {
    let anywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let test_door =
        TestDoor::open_with(TopicsConfig { listen: Some(anywhere), exit: Exit::Stop, ..config() });
    let exit = test_door.running.as_ref().unwrap().exit();
    let mut operator = test_door.client();
    assert_eq!((operator.ask("AUTH@operator"), operator.ask("EXIT")), ("OK".to_owned(), "EXIT".to_owned()));
    assert_eq!(test_door.client().ask("EXIT"), "EXIT");
    assert!(!*exit.borrow());
    let mut admin = test_door.client();
    assert_eq!((admin.ask("AUTH@admin"), admin.ask("EXIT")), ("OK".to_owned(), "EXIT".to_owned()));
    assert!(*exit.borrow());
}

#[test]
fn the_door_closes_while_clients_wait() {
    for crowd in [3, CROWD] {
        let mut test_door = TestDoor::open();
        let mut clients: Vec<Client> = (0..crowd).map(|_| test_door.client()).collect();
        clients.iter_mut().for_each(|client| assert_eq!(client.ask("LIST"), ""));
        test_door.end();
        clients.iter_mut().for_each(Client::ends);
    }
}

#[test]
fn the_same_is_said_by_tls() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert_file, key_file) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert_file, made.cert.pem()).unwrap();
    std::fs::write(&key_file, made.signing_key.serialize_pem()).unwrap();
    let trust = TlsClient::new(&TlsClientSettings {
        ca_file: Some(cert_file.clone()),
        server_name: Some("localhost".to_owned()),
    })
    .unwrap();
    let settings = TopicsConfig {
        listen: None,
        tls_listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        tls: Some(TlsServerSettings { cert_file, key_file }),
        ..config()
    };
    let test_door = TestDoor::open_with(settings);
    let address = test_door.running.as_ref().and_then(TopicsRunning::tls_address).unwrap();
    let connection = async {
        let mut stream = net::connect(&address.to_string(), Some(&trust), PATIENCE).await.unwrap();
        stream.write_all(b"POST@t#by TLS\0READ@t#0\0").await.unwrap();
        let large = [&b"POST@t#"[..], &[b'x'; 100_000], b"\0EXIT\0"].concat();
        stream.write_all(&large).await.unwrap();
        stream.flush().await.unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).await.unwrap();
        heard
    };
    let heard =
        test_door.runtime.block_on(async { tokio::time::timeout(PATIENCE, connection).await.unwrap() });
    assert_eq!(heard, b"0\0by TLS\x001\0EXIT\0");
    // Who does not speak TLS is not served, and holds nobody up.
    let mut plain = std::net::TcpStream::connect(address).unwrap();
    plain.write_all(b"LIST\0LIST\0LIST\0").unwrap();
    plain.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut heard = Vec::new();
    let _ = plain.read_to_end(&mut heard);
    assert!(!heard.ends_with(b"\0\0\0"), "{heard:?}");
}
