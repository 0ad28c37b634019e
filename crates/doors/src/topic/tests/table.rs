use super::*;
use std::collections::BTreeSet;

#[test]
fn every_row_of_the_table_is_answered() {
    let test_door = TestDoor::open();
    let mut client = test_door.client();
    let long = "9".repeat(40);
    for (request, reply) in [
        ("LIST", ""),
        ("COUNT@news", "0"),
        ("READ@news#0", ""),
        ("POST@news#first", "0"),
        ("POST@news#second # with @ and #", "1"),
        ("POST@#bare", "0"),
        ("COUNT@news", "2"),
        ("COUNT@", "1"),
        ("READ@news#0", "first"),
        ("READ@news#1", "second # with @ and #"),
        ("READ@news#001", "second # with @ and #"),
        ("READ@news#2", ""),
        ("READ@news#18446744073709551615", ""),
        ("READ@news#18446744073709551616", ""),
        (&format!("READ@news#{long}"), ""),
        ("READ@#0", "bare"),
        ("READ@unknown#0", ""),
        ("COUNT@unknown", "0"),
        ("AUTH@nonsense", "DENIED"),
        ("AUTH@viewer", "OK"),
        ("POST@news#\u{e5}\u{4e2d}\u{1f600}", "2"),
        ("READ@news#2", "\u{e5}\u{4e2d}\u{1f600}"),
        ("HELLO", ""),
        ("POST@news#", ""),
        ("POST@news", ""),
        ("post@news#x", ""),
        ("POST@a@b#x", ""),
        ("READ@news#-1", ""),
        ("READ@news#1#1", ""),
        ("COUNT@news#", ""),
        ("LIST ", ""),
        ("POST@news#two\nlines", ""),
        ("\n", ""),
        ("COUNT@news", "3"),
    ] {
        assert_eq!(client.ask(request), reply, "{request:?}");
    }
    let list = client.ask("LIST");
    assert_eq!(list.split('#').collect::<BTreeSet<_>>(), BTreeSet::from(["@news", "@"]), "{list:?}");
    assert_eq!(client.ask("EXIT"), "EXIT");
    client.ends();
    assert_eq!(test_door.client().ask("COUNT@news"), "3", "the others go on");
}

#[test]
fn a_bare_terminator_has_no_reply() {
    let test_door = TestDoor::open();
    let mut client = test_door.client();
    client.send(b"\0\0\0LIST\0\0\0COUNT@a\0");
    assert_eq!((client.hear(), client.hear()), (String::new(), "0".to_owned()));
    assert_eq!(client.ask("LIST"), "");
}

#[test]
fn people_are_answered_by_lines() {
    let test_door = TestDoor::open();
    for (terminator, index) in [(&b"\n"[..], "0"), (b"\r\n", "1")] {
        let mut client = test_door.client().ending(terminator);
        assert_eq!(client.ask("POST@board#hello"), index);
        assert_eq!(client.ask("READ@board#0"), "hello");
        assert_eq!(client.ask("what?"), "");
        assert_eq!(client.ask("EXIT"), "EXIT");
        client.ends();
    }
}

#[test]
fn requests_may_come_in_pieces_and_many_at_once() {
    let test_door = TestDoor::open();
    let mut client = test_door.client();
    for octet in b"POST@t#piece by piece\0READ@t#0\0" {
        client.send(&[*octet]);
    }
    assert_eq!((client.hear(), client.hear()), ("0".to_owned(), "piece by piece".to_owned()));
    // Each sees what those before it on the same connection did.
    let mut wire = Vec::new();
    let mut expected = Vec::new();
    for number in 0..300 {
        let topic = number % 7;
        let index = number / 7;
        wire.extend_from_slice(format!("POST@many{topic}#{number}\0").as_bytes());
        expected.push(index.to_string());
        if number % 5 == 0 {
            wire.extend_from_slice(format!("READ@many{topic}#{index}\0COUNT@many{topic}\0?\0").as_bytes());
            expected.extend([number.to_string(), (index + 1).to_string(), String::new()]);
        }
    }
    client.send(&wire);
    for (place, expected) in expected.iter().enumerate() {
        assert_eq!(&client.hear(), expected, "reply {place}");
    }
}

#[test]
fn what_is_long_is_cut_at_a_character_and_cut_topics_are_one() {
    let test_door = TestDoor::open();
    let mut client = test_door.client();
    let message = format!("{}\u{e5}rest", "m".repeat(139));
    assert_eq!(client.ask(&format!("POST@t#{message}")), "0");
    assert_eq!(client.ask("READ@t#0"), "m".repeat(139));
    assert_eq!(client.ask(&format!("POST@t#{}", "n".repeat(200_000))), "1");
    assert_eq!(client.ask("READ@t#1"), "n".repeat(140));
    // With its @ a topic has 140 octets; 138 and a character of two do not fit whole.
    let kept = "x".repeat(138);
    assert_eq!(client.ask(&format!("POST@{kept}\u{e5}\u{e5}#one")), "0");
    assert_eq!(client.ask(&format!("POST@{kept}\u{20ac}#two")), "1");
    assert_eq!(client.ask(&format!("COUNT@{kept}")), "2");
    assert_eq!(client.ask(&format!("READ@{kept}\u{e5}{}#1", "y".repeat(100_000))), "two");
    let wide = "\u{1f600}".repeat(34);
    assert_eq!(client.ask(&format!("POST@{wide}\u{1f600}#wide")), "0");
    assert_eq!(client.ask(&format!("READ@{wide}#0")), "wide");
    let list = client.ask("LIST");
    let topics: BTreeSet<&str> = list.split('#').collect();
    assert_eq!(topics, BTreeSet::from(["@t", &format!("@{kept}"), &format!("@{wide}")]));
}

#[test]
fn garbage_is_answered_and_the_connection_stays() {
    let test_door = TestDoor::open();
    let mut client = test_door.client();
    // 16 KiB of every octet, from a fixed seed.
    let mut state = 0x9E37_79B9u32;
    let garbage: Vec<u8> = (0..16 * 1024)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 8) as u8
        })
        .map(|octet| if octet == b'\n' { b'?' } else { octet })
        .collect();
    let replies = garbage.split(|octet| *octet == 0).filter(|text| !text.is_empty()).count();
    client.send(&garbage);
    client.send(b"\0");
    (0..replies).for_each(|_| assert_eq!(client.hear(), ""));
    client.send(&[b'x'; 16 * 1024]);
    assert_eq!(client.ask(""), "");
    assert_eq!(client.ask("POST@after#all"), "0");
}

#[test]
fn internal_topics_are_out_of_reach() {
    let test_door = TestDoor::open();
    let bus = test_door.bus.as_ref().unwrap();
    let outcomes = bus.topic("outcomes").unwrap();
    test_door.runtime.block_on(outcomes.append(&[b"secret"])).unwrap();
    let mut client = test_door.client();
    for topic in ["outcomes", "../outcomes", "text/n-x", "n-x", "", "outcomes\u{1}", "%2E%2E", ".."] {
        assert_eq!(client.ask(&format!("READ@{topic}#0")), "", "{topic:?}");
        assert_eq!(client.ask(&format!("POST@{topic}#mine")), "0", "{topic:?}");
        assert_eq!(client.ask(&format!("READ@{topic}#0")), "mine", "{topic:?}");
    }
    assert_eq!(outcomes.head(), 1);
    assert!(bus.topics("").unwrap().iter().all(|name| name == "outcomes" || name.starts_with("text/")));
    assert_eq!(client.ask("LIST").split('#').count(), 8);
}

#[test]
fn topics_are_there_after_a_restart_and_their_indexes_go_on() {
    for durability in [bus::Durability::Os, bus::Durability::Disk] {
        let settings = TopicsConfig { durability, ..config() };
        let mut test_door = TestDoor::open_with(settings.clone());
        let topic = format!("@{}", "\u{1f600}".repeat(30));
        assert_eq!(test_door.client().ask(&format!("POST{topic}#one")), "0");
        assert_eq!(test_door.client().ask("POST@b#two"), "0");
        test_door.end();
        test_door.begin(settings);
        let mut client = test_door.client();
        let list = client.ask("LIST");
        assert_eq!(list.split('#').collect::<BTreeSet<_>>(), BTreeSet::from([topic.as_str(), "@b"]));
        assert_eq!(client.ask(&format!("READ{topic}#0")), "one");
        assert_eq!(client.ask("POST@b#three"), "1");
    }
}

#[test]
fn topics_in_memory_are_read_and_no_index_is_given_out_twice() {
    let settings = TopicsConfig { durability: bus::Durability::Memory, ..config() };
    let mut test_door = TestDoor::open_with(settings.clone());
    let mut client = test_door.client();
    for number in 0..5 {
        assert_eq!(client.ask(&format!("POST@m#{number}")), number.to_string());
    }
    assert_eq!((client.ask("READ@m#3"), client.ask("COUNT@m")), ("3".to_owned(), "5".to_owned()));
    test_door.end();
    test_door.begin(settings);
    let index: u64 = test_door.client().ask("POST@m#again").parse().unwrap();
    assert!(index >= 5, "{index}");
    assert_eq!(test_door.client().ask(&format!("READ@m#{index}")), "again");
}
