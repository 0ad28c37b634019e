use super::*;

#[tokio::test]
async fn what_was_appended_is_read_back_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..3u64 {
        let bus = open(dir.path(), Options::default()).unwrap();
        let topic = bus.topic("segments/a/routine").unwrap();
        assert_eq!(topic.head(), round * 3);
        let first = topic.append(&[b"one", b"", b"three"]).await.unwrap();
        assert_eq!(first, round * 3);
        topic.readable(round * 3 + 2).await;
        let records = topic.read(0, 100, 1 << 20).unwrap();
        let texts: Vec<&[u8]> = records.iter().map(|record| &record.octets[..]).collect();
        assert_eq!(texts, [&b"one"[..], b"", b"three"].repeat(round as usize + 1));
        assert!(records.iter().map(|record| record.index).eq(0..round * 3 + 3));
        assert_eq!(bus.topics("segments/").unwrap(), ["segments/a/routine"]);

        let group = bus.group("segments/a/routine", "gateway").unwrap();
        let taken = group.take(2, Duration::from_secs(60)).unwrap();
        assert_eq!(taken[0].record.index, round * 2);
        assert!(taken.iter().all(|leased| leased.redelivered == 0));
        taken.iter().for_each(|leased| group.ack(leased.record.index).unwrap());
        group.flush().await.unwrap();
        assert_eq!(group.low_water(), round * 2 + 2);

        let control = bus.retained("control").unwrap();
        assert_eq!(control.value("7").map_or(0, |value| value[0]), round as u8);
        control.set("7", &[round as u8 + 1]).await.unwrap();
    }
}

#[test]
fn a_second_process_cannot_open_the_same_folder() {
    let dir = tempfile::tempdir().unwrap();
    let first = Embedded::open(dir.path(), Options::default()).unwrap();
    let Err(BusError::Io { why, .. }) = Embedded::open(dir.path(), Options::default()) else {
        panic!("it is locked")
    };
    assert!(why.contains("another process"), "{why}");
    drop(first);
    Embedded::open(dir.path(), Options::default()).unwrap();
}

#[tokio::test]
async fn a_removed_topic_is_gone_with_its_groups_and_may_begin_anew() {
    let dir = tempfile::tempdir().unwrap();
    let bus = open(dir.path(), Options::default()).unwrap();
    let topic = bus.topic("text/a").unwrap();
    topic.append(&[b"1", b"2"]).await.unwrap();
    let group = bus.group("text/a", "g").unwrap();
    group.take(2, Duration::from_secs(1)).unwrap();
    group.ack(0).unwrap();
    group.flush().await.unwrap();
    bus.topic("text/b").unwrap().append(&[b"stays"]).await.unwrap();
    bus.remove("text/a").unwrap();
    bus.remove("text/never-there").unwrap();
    assert!(matches!(topic.append(&[b"3"]).await, Err(BusError::Closed)));
    assert_eq!(bus.topics("text").unwrap(), ["text/b"]);
    assert_eq!(bus.topic("text/a").unwrap().append(&[b"new"]).await.unwrap(), 0);
    assert_eq!(bus.group("text/a", "g").unwrap().take(9, Duration::from_secs(1)).unwrap().len(), 1);
}

#[tokio::test]
async fn closing_tells_everyone_who_waits() {
    let dir = tempfile::tempdir().unwrap();
    let bus = open(dir.path(), Options { fsync: Fsync::Os, ..Options::default() }).unwrap();
    let topic = bus.topic("t").unwrap();
    topic.append(&[b"kept"]).await.unwrap();
    let (readable, ready) = (topic.readable(1), bus.group("t", "g").unwrap().ready());
    ready.await;
    drop(bus);
    readable.await;
    assert!(matches!(topic.append(&[b"late"]).await, Err(BusError::Closed)));
    assert!(matches!(topic.read(0, 1, 1), Err(BusError::Closed)));
    let again = open(dir.path(), Options::default()).unwrap();
    assert_eq!(again.topic("t").unwrap().head(), 1);
}

#[tokio::test]
async fn thousands_of_topics_open_few_files_and_no_thread() {
    let dir = tempfile::tempdir().unwrap();
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let bus =
        Embedded::open(dir.path(), Options { fsync: Fsync::Os, open_files_max: 16, ..Options::default() })
            .unwrap();
    let threads_before = threads();
    let topics: Vec<_> =
        (0..1500).map(|n| bus.topic(&format!("segments/route-{n}/routine")).unwrap()).collect();
    assert_eq!(
        std::fs::read_dir(dir.path().join("topics")).unwrap().count(),
        0,
        "a topic without records is no folder"
    );
    for (n, topic) in topics.iter().enumerate().step_by(10) {
        topic.append(&[n.to_string().as_bytes()]).await.unwrap();
    }
    for (n, topic) in topics.iter().enumerate().step_by(10) {
        assert_eq!(topic.read(0, 1, 1).unwrap()[0].octets, n.to_string());
    }
    // Tests run beside this one in the same process, and their threads come and go.
    let (now, most) = (threads(), threads_before + topics.len() / 10);
    assert!(now < most, "{now} threads for {} topics, {threads_before} before", topics.len());
    assert_eq!(bus.topics("segments/").unwrap().len(), 1500);
}

/// A copy of the bus's files as a crash at this moment could leave them: the newest file of a log first.
pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    let mut names: Vec<_> = std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    for path in names.iter().rev() {
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(path, &target);
        } else {
            std::fs::copy(path, target).unwrap();
        }
    }
}

#[test]
fn files_copied_while_appends_run_open_as_a_prefix() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { file_octets_max: 20_000, ..Options::default() };
    let bus = Embedded::open(dir.path().join("bus"), options.clone()).unwrap();
    let topic = bus.topic("t").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let mut n = 0u64;
            while !stop.load(Ordering::Relaxed) {
                let texts: Vec<String> =
                    (n..n + 1 + n % 9).map(|n| format!("{n}{}", "-".repeat((n % 50) as usize))).collect();
                let records: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
                assert_eq!(runtime.block_on(topic.append(&records)).unwrap(), n);
                n += records.len() as u64;
            }
        });
        for round in 0..8 {
            let acknowledged = topic.head();
            let to = dir.path().join(format!("copy-{round}"));
            copy(&dir.path().join("bus/topics"), &to.join("topics"));
            let copied = Embedded::open(&to, options.clone()).unwrap();
            let topic = copied.topic("t").unwrap();
            assert!(topic.head() >= acknowledged, "round {round}");
            let mut from = 0;
            while from < topic.head() {
                let records = topic.read(from, 1000, 10_000).unwrap();
                for record in &records {
                    assert_eq!(record.index, from);
                    assert!(record.octets.starts_with(from.to_string().as_bytes()));
                    from += 1;
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Not a test of its own: the process that [`a_killed_process_loses_nothing_it_acknowledged`] kills.
#[test]
fn appends_until_it_is_killed() {
    let Some(dir) = std::env::var_os("BUS_TEST_KILLED") else { return };
    let bus = Embedded::open(dir, Options { file_octets_max: 50_000, ..Options::default() }).unwrap();
    let topic = bus.topic("t").unwrap();
    let group = bus.group("t", "g").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    loop {
        let n = topic.head();
        let text = n.to_string();
        runtime.block_on(topic.append(&[text.as_bytes(), b"and"])).unwrap();
        for leased in group.take(2, Duration::from_secs(60)).unwrap() {
            group.ack(leased.record.index).unwrap();
        }
        println!("acknowledged {n}");
    }
}

#[test]
fn a_killed_process_loses_nothing_it_acknowledged() {
    use std::io::BufRead;
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    for round in 0..4 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "embedded::tests::appends_until_it_is_killed", "--nocapture"])
            .env("BUS_TEST_KILLED", dir.path())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        for line in lines {
            if let Some(n) = line.unwrap().strip_prefix("acknowledged ") {
                acknowledged = n.parse::<u64>().unwrap() + 2;
                seen += 1;
            }
            if seen == 150 + round * 37 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        let bus = Embedded::open(dir.path(), Options::default()).unwrap();
        let topic = bus.topic("t").unwrap();
        assert!(topic.head() >= acknowledged, "round {round}");
        assert!(topic.head().is_multiple_of(2), "an append counts whole");
        let mut from = 0;
        while from < topic.head() {
            for record in topic.read(from, 500, 1 << 16).unwrap() {
                let expected =
                    if record.index % 2 == 0 { record.index.to_string() } else { "and".to_owned() };
                assert_eq!(record.octets, expected);
                from = record.index + 1;
            }
        }
        assert!(bus.group("t", "g").unwrap().low_water() <= topic.head());
    }
}

#[tokio::test]
async fn however_many_topics_are_written_to_few_files_wait_open_for_their_sync() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { fsync: Fsync::Os, open_files_max: 16, ..Options::default() };
    let bus = Embedded::open(dir.path(), options).unwrap();
    let unsynced = || bus.shared.unsynced.count();
    let mut most = 0;
    for n in 0..600 {
        bus.topic(&format!("t-{n}")).unwrap().append(&[b"x"]).await.unwrap();
        most = most.max(unsynced());
    }
    assert!(most > 200, "{most}: nothing waits for long without need");
    assert!(most <= 513, "{most} logs hold files open");
}
