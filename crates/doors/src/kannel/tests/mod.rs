//! The old way as platforms see it.

mod replay;
mod sendsms;

use super::*;
use engine::{EngineError, Unroutable};
use futures_util::future::BoxFuture;
use records::{MessageId, Mode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// 2026-11-18T06:26:40Z.
const NOW: Timestamp = Timestamp(1_794_983_200_000_000);

/// The engine's stand-in, with Kannel's routes: one, `carrier`, which does not reach 999.
#[derive(Default)]
struct FakeEngine {
    taken: Mutex<Vec<Message>>,
    appends: Mutex<Vec<usize>>,
    is_behind: AtomicBool,
    is_broken: AtomicBool,
}

impl MessageIntake for FakeEngine {
    fn routable(&self, _: Mode, to: &str, _: &str, _: &str, route: Option<&str>) -> Result<(), Unroutable> {
        match route {
            Some(name) if name != "carrier" => Err(Unroutable::UnknownRoute(name.to_owned())),
            _ if to.trim_start_matches('+').starts_with("999") => Err(Unroutable::NoRoute),
            _ => Ok(()),
        }
    }

    fn accept<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<MessageId, EngineError>> {
        Box::pin(async move {
            if self.is_broken.load(Ordering::Relaxed) {
                return Err(EngineError::DiskFull);
            }
            // Others get to put something in meanwhile, as while a disk writes.
            tokio::task::yield_now().await;
            self.appends.lock().unwrap().push(records.len());
            let mut taken = self.taken.lock().unwrap();
            let first = taken.len() as u64;
            for record in records {
                let Ok(Intake::Message(message)) = Intake::decode(record) else { panic!("no message") };
                taken.push(*message);
            }
            Ok(MessageId(first))
        })
    }

    fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Relaxed)
    }
}

/// Of a request that nobody's guesses hold up.
fn taken(taken: Taken) -> PendingAnswer {
    match taken {
        Taken::Answer(answer) => answer,
        Taken::Waits(wait, _) => panic!("it waits {wait:?}"),
    }
}

fn platforms() -> Vec<PlatformSettings> {
    let tester = PlatformSettings {
        username: "tester".into(),
        password: "secret".into(),
        account: "water".into(),
        sender: Some("7000".into()),
        ..PlatformSettings::default()
    };
    let elsewhere = PlatformSettings {
        username: "elsewhere".into(),
        allowed_ips: vec!["192.0.2.0/24".into()],
        ..tester.clone()
    };
    let slow = PlatformSettings { username: "slow".into(), rate: 1.0, ..tester.clone() };
    vec![tester, elsewhere, slow]
}

/// Reports may go to this machine: Kannel's were recorded there.
fn sendsms(stand: &Arc<FakeEngine>) -> Arc<SendSms> {
    sendsms_that_calls(stand, OutboundPolicy::new(&["127.0.0.0/8".to_owned()]).unwrap())
}

fn sendsms_that_calls(stand: &Arc<FakeEngine>, outbound: OutboundPolicy) -> Arc<SendSms> {
    let platforms = Arc::new(ArcSwap::from_pointee(Platforms::new(platforms()).unwrap()));
    let outbound = Arc::new(ArcSwap::from_pointee(outbound));
    Arc::new(SendSms::new(stand.clone(), platforms, Arc::default(), outbound, Arc::new(|| NOW)))
}

/// Headers as a list.
struct Listed(Vec<(String, Vec<u8>)>);

impl Headers for Listed {
    fn each<'h>(&'h self, take: &mut dyn FnMut(&'h str, &'h [u8])) {
        for (name, value) in &self.0 {
            take(name, value);
        }
    }
}

/// What a query is answered, and what it brings.
async fn get(query: &str) -> (KannelAnswer, Vec<Message>) {
    let stand = Arc::new(FakeEngine::default());
    let answer = put(&stand, query).await;
    let taken = std::mem::take(&mut *stand.taken.lock().unwrap());
    (answer, taken)
}

async fn put(stand: &Arc<FakeEngine>, query: &str) -> KannelAnswer {
    put_to(&sendsms(stand), stand, query).await
}

async fn put_to(sendsms: &SendSms, stand: &Arc<FakeEngine>, query: &str) -> KannelAnswer {
    let queue = MessageQueue::start(stand.clone());
    let ask = SendSmsRequest {
        is_post: false,
        query: query.as_bytes(),
        headers: &Listed(Vec::new()),
        body: b"",
        from: [127, 0, 0, 1].into(),
    };
    taken(sendsms.take(&ask, &queue, GuessTurn::First)).answer().await
}

const GOOD: &str = "username=tester&password=secret&to=%2B46701234567";

#[tokio::test]
async fn what_a_platform_wants_to_hear_goes_with_the_message() {
    let query = format!(
        "{GOOD}&text=Hi&dlr-mask=2&dlr-url=http%3A%2F%2Fa%2F%3Fd%3D%25d&account=north&meta-data=%3Fsmpp%3Fa%3Db"
    );
    let (_, taken) = get(&query).await;
    let tell = &taken[0].tell;
    assert_eq!(tell.mask, records::DlrRequest::FAILED | records::DlrRequest::REFUSED);
    assert_eq!(tell.url.as_deref(), Some("http://a/?d=%d"));
    assert_eq!(tell.values, [('D', "?smpp?a=b".into()), ('o', "north".into())]);
    // A mask without an address, and an address without a mask, ask for nothing.
    for half in ["dlr-mask=31", "dlr-url=http%3A%2F%2Fa%2F"] {
        assert_eq!(get(&format!("{GOOD}&text=Hi&{half}")).await.1[0].tell, records::DlrRequest::default());
    }
}

#[tokio::test]
async fn a_message_waits_and_ends_when_it_is_said_to() {
    let at = |minutes: i64| NOW.plus_s(minutes * 60);
    let cases = [
        ("", None, at(48 * 60)),
        ("&validity=60", None, at(60)),
        ("&validity=0", None, at(0)),
        ("&validity=2147483647", None, at(30 * 24 * 60)),
        ("&deferred=10", Some(at(10)), at(10 + 48 * 60)),
        ("&deferred=10&validity=60", Some(at(10)), at(60)),
    ];
    for (more, not_before, expires) in cases {
        let message = get(&format!("{GOOD}&text=Hi{more}")).await.1.remove(0);
        assert_eq!((message.not_before, message.expires), (not_before, expires), "{more}");
    }
}

#[tokio::test]
async fn an_urgent_priority_takes_the_urgent_lane() {
    use records::Lane::{Routine, Urgent};
    for (priority, lane) in [("0", Routine), ("1", Routine), ("2", Urgent), ("3", Urgent)] {
        let message = get(&format!("{GOOD}&text=Hi&priority={priority}")).await.1.remove(0);
        assert_eq!((message.lane, message.short.priority_flag), (lane, priority.parse().ok()));
    }
}

#[tokio::test]
async fn whoever_cannot_be_served_now_is_told_to_come_again() {
    let stand = Arc::new(FakeEngine::default());
    stand.is_behind.store(true, Ordering::Relaxed);
    assert_eq!(put(&stand, &format!("{GOOD}&text=Hi")).await, KannelAnswer::busy(RETRY_AFTER_S));
    stand.is_behind.store(false, Ordering::Relaxed);
    stand.is_broken.store(true, Ordering::Relaxed);
    assert_eq!(put(&stand, &format!("{GOOD}&text=Hi")).await, KannelAnswer::busy(RETRY_AFTER_S));
    assert!(stand.taken.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_platform_above_its_rate_is_told_when_to_come_again() {
    let stand = Arc::new(FakeEngine::default());
    let (sendsms, queue) = (sendsms(&stand), MessageQueue::start(stand.clone()));
    let headers = Listed(Vec::new());
    let query = b"username=slow&password=secret&to=111&text=Hi";
    let ask =
        SendSmsRequest { is_post: false, query, headers: &headers, body: b"", from: [127, 0, 0, 1].into() };
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(taken(sendsms.take(&ask, &queue, GuessTurn::First)).answer().await.status);
    }
    assert_eq!(statuses, [202, 202, 503, 503]);
}

#[tokio::test]
async fn requests_that_come_together_share_an_append() {
    let stand = Arc::new(FakeEngine::default());
    let (sendsms, queue) = (sendsms(&stand), MessageQueue::start(stand.clone()));
    let headers = Listed(Vec::new());
    let query = format!("{GOOD}&text=Hi");
    let ask = SendSmsRequest {
        is_post: false,
        query: query.as_bytes(),
        headers: &headers,
        body: b"",
        from: [127, 0, 0, 1].into(),
    };
    let steps: Vec<PendingAnswer> =
        (0..50).map(|_| taken(sendsms.take(&ask, &queue, GuessTurn::First))).collect();
    for step in steps {
        assert_eq!(step.answer().await, KannelAnswer::ACCEPTED);
    }
    assert_eq!(*stand.appends.lock().unwrap(), [50]);
}

#[tokio::test]
async fn a_request_has_so_many_receivers_and_no_more() {
    let numbers = |count: usize| (0..count).map(|n| format!("{}", 1_000 + n)).collect::<Vec<_>>().join("+");
    let query = |count| format!("username=tester&password=secret&text=Hi&to={}", numbers(count));
    let (answer, taken) = get(&query(compose::RECEIVERS_MAX)).await;
    assert_eq!((answer, taken.len()), (KannelAnswer::ACCEPTED, compose::RECEIVERS_MAX));
    let (answer, taken) = get(&query(compose::RECEIVERS_MAX + 1)).await;
    assert_eq!((answer.words, taken.len()), ("Too many receivers, rejected", 0));
}

#[tokio::test]
async fn a_dlr_url_of_an_inner_address_is_refused_where_a_report_is_wanted() {
    let stand = Arc::new(FakeEngine::default());
    let sendsms = sendsms_that_calls(&stand, OutboundPolicy::default());
    for url in ["http://127.0.0.1:9/dlr?to=%25p", "http://localhost/", "https://0x7f.1/", "http://[::1]:9/"] {
        let query = format!("{GOOD}&text=Hi&dlr-mask=31&dlr-url={url}");
        let answer = put_to(&sendsms, &stand, &query).await;
        assert_eq!((answer.status, stand.taken.lock().unwrap().len()), (400, 0), "{url}");
        assert!(
            answer.words.contains("DLR-URL") && answer.words.contains("[outbound] allow"),
            "{}",
            answer.words
        );
    }
    // Without a mask nothing is called.
    let answer = put_to(&sendsms, &stand, &format!("{GOOD}&text=Hi&dlr-url=http://127.0.0.1/")).await;
    assert_eq!((answer.status, stand.taken.lock().unwrap()[0].tell.url.as_deref()), (202, None));
}
