//! A relay that several processes have: one limit, whoever writes.

use super::*;
use crate::cluster::RateAllocator;
use std::collections::BTreeSet;

/// Longer than any machine stands still.
const LEASE: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(300);

#[tokio::test]
async fn the_rate_holds_over_processes_and_nobody_gets_two_mails() {
    const RATE: usize = 20;
    let mut test_route = TestRoute::new();
    let server = Server::start(Manners::default()).await;
    let stamps: Arc<Mutex<Vec<(usize, Instant)>>> = Arc::default();
    let told = Arc::clone(&stamps);
    test_route.context.write_observer =
        Some(Arc::new(move |_, mails, _, after| told.lock().unwrap().push((mails, after))));
    let allocator =
        RateAllocator::start(&*test_route.bus, &test_route.context.cores, "hands out", LEASE).unwrap();
    allocator.lead(true);
    let names: Vec<String> = (0..120).map(|number| format!("person-{number}")).collect();
    for number in 0..4 {
        let mut segment = segment(&names[number * 30..(number + 1) * 30]);
        for (at, entry) in segment.entries.iter_mut().enumerate() {
            entry.endpoint = EndpointNo((number * 30 + at) as u32);
        }
        test_route.append(&segment).await;
    }
    let process = |name: &str| {
        let mut context = test_route.context.clone();
        context.limits = Arc::default();
        context.share(name, LEASE).unwrap();
        let settings = MailRoute { rate: RATE as f64, ..route(&server) };
        start(settings, &context).unwrap_or_else(|problems| panic!("{problems:?}"))
    };
    let running = [process("one"), process("two")];
    let end = Instant::now() + PATIENCE;
    while server.recipients().len() < 120 {
        assert!(Instant::now() < end, "{} mails came", server.recipients().len());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(test_route.until_ended(120).await.len(), 120);
    for process in running {
        process.stop().await;
    }
    allocator.stop().await;
    assert_eq!(server.recipients().iter().collect::<BTreeSet<_>>().len(), 120, "nobody twice");
    let mut stamps = stamps.lock().unwrap().clone();
    stamps.sort_by_key(|(_, stamp)| *stamp);
    for (at, (_, start)) in stamps.iter().enumerate() {
        let second = stamps[at..].iter().take_while(|(_, stamp)| *stamp <= *start + Duration::from_secs(1));
        let mails: usize = second.map(|(mails, _)| mails).sum();
        assert!(mails <= RATE, "{mails} in a second");
    }
}
