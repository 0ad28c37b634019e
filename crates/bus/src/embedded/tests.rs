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
