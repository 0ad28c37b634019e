//! Filling of a bus: topics that begin at an index, and a prefix that is emptied.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_goes_on_at_the_index_where_another_bus_was() {
    let server = NatsServer::start();
    let filling = Filling::open(&server.url(), options(1)).unwrap();
    assert_eq!(filling.streams().unwrap(), Vec::<String>::new());
    for (name, first) in [("intake", 70_000), ("text/board", 1), ("outcomes", 0)] {
        filling.begin_at(name, first).unwrap();
        assert!(matches!(filling.begin_at(name, first + 1), Err(BusError::Unfit { .. })), "{name} is there");
        let topic = filling.bus().topic(name).unwrap();
        assert_eq!((topic.low(), topic.latest().await.unwrap()), (first, first), "{name}");
        assert_eq!(topic.append_at(first, &[b"one", b"two"]).await.unwrap(), first);
        // As another process finds it.
        let another = open(&server.url(), options(1)).unwrap();
        let records = another.topic(name).unwrap().fetch(0, 9, usize::MAX).await.unwrap();
        let found: Vec<(u64, &[u8])> = records.iter().map(|one| (one.index, &*one.octets)).collect();
        assert_eq!(found, [(first, &b"one"[..]), (first + 1, &b"two"[..])], "{name}");
    }
    filling.bus().retained("confirmed").unwrap().set("a", b"b").await.unwrap();
    assert_eq!(filling.streams().unwrap().len(), 4);
    let other = NatsOptions { prefix: "other".to_owned(), ..options(1) };
    let other = Filling::open(&server.url(), other).unwrap();
    other.bus().topic("intake").unwrap();
    filling.clear().unwrap();
    assert_eq!(filling.streams().unwrap(), Vec::<String>::new());
    assert_eq!(other.streams().unwrap().len(), 1, "another prefix is another installation's");
}
