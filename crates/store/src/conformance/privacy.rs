use super::deliveries::some;
use super::{ACCOUNT, person, solving};
use crate::{FoldedBlock, StopHasher, StopOf, Store};
use records::{
    AlertNo, AlertState, Answer, ChannelNumber, DeliveryState, Device, EndpointNo, Group, Person,
    RosterBlock, RosterEntry, Timestamp,
};

const KEY: [u8; 32] = [7; 32];

fn stop_of(channel: ChannelNumber, address: &str, stopped: Option<Timestamp>) -> StopOf {
    let hash = StopHasher::new(&KEY).hash(ACCOUNT, channel, address);
    StopOf { channel, address: address.to_owned(), hash, stopped }
}

pub(crate) async fn an_erased_record_is_gone_with_its_places_in_groups(store: &dyn Store) {
    let mut one = super::member("1", &["night"]);
    one.devices.push(Device {
        channel: channels::MAIL,
        address: "a@x.se".to_owned(),
        ..one.devices[0].clone()
    });
    store.put_recipients(ACCOUNT, vec![one.clone(), person("11", "Bo")]).await.unwrap();
    let group = |members: &[&str]| Group {
        id: "staff".to_owned(),
        members: members.iter().map(|member| (*member).to_owned()).collect(),
        ..Group::default()
    };
    store.put_group(ACCOUNT, group(&["1", "11"])).await.unwrap();
    let erased = store.erase_recipient(ACCOUNT, "1").await.unwrap();
    assert_eq!((erased.versions, &*erased.groups), (1, &["staff".to_owned()][..]));
    assert_eq!(erased.devices, one.devices);
    assert_eq!(store.recipient(ACCOUNT, "1").await.unwrap(), None);
    assert!(!store.group_exists(ACCOUNT, "night").await.unwrap());
    assert_eq!(store.group(ACCOUNT, "staff").await.unwrap().unwrap().0, group(&["11"]));
    assert!(store.recipient(ACCOUNT, "11").await.unwrap().is_some());
    assert_eq!(store.erase_recipient(ACCOUNT, "1").await.unwrap().versions, 0);
    assert_eq!(store.erase_recipient("b", "11").await.unwrap().versions, 0);
}

pub(crate) async fn all_versions_that_an_import_superseded_are_erased(store: &dyn Store) {
    let device = |number: &str| Device { address: number.to_owned(), ..person("1", "").devices[0].clone() };
    let with = |number: &str| records::Recipient { devices: vec![device(number)], ..person("1", "Ann") };
    store.put_recipients(ACCOUNT, vec![with("+461")]).await.unwrap();
    let published = store.begin_import(ACCOUNT, Timestamp(1)).await.unwrap();
    store.stage(published, vec![with("+462")]).await.unwrap();
    store.publish_import(published).await.unwrap();
    let staged = store.begin_import(ACCOUNT, Timestamp(1)).await.unwrap();
    store.stage(staged, vec![with("+463")]).await.unwrap();
    let erased = store.erase_recipient(ACCOUNT, "1").await.unwrap();
    assert!(erased.versions >= 1 && erased.devices.contains(&device("+462")), "{erased:?}");
    assert!(!erased.devices.contains(&device("+463")), "an import on its way is published later");
    assert_eq!(store.recipient(ACCOUNT, "1").await.unwrap(), None);
    store.publish_import(staged).await.unwrap();
    assert_eq!(store.recipient(ACCOUNT, "1").await.unwrap().unwrap().0, with("+463"));
}

pub(crate) async fn a_forgotten_stop_is_known_by_its_hash_alone_until_a_start(store: &dyn Store) {
    store.set_stop_key(KEY);
    let (sms, mail, now) = (channels::SMS, channels::MAIL, Timestamp(5));
    store.set_opt_out(ACCOUNT, sms, "+46701234567", true, now).await.unwrap();
    store.set_sender_opt_out(ACCOUNT, sms, "+46701234567", "+4699", true, now).await.unwrap();
    let stops = vec![
        stop_of(sms, "+46701234567", None),
        stop_of(mail, "ann@x.se", Some(Timestamp(9))),
        stop_of(mail, "never@x.se", None),
    ];
    store.forget_stops(ACCOUNT, stops.clone()).await.unwrap();
    store.forget_stops(ACCOUNT, stops).await.unwrap();
    assert_eq!(store.all_opt_outs(ACCOUNT).await.unwrap(), []);
    let forgotten = store.forgotten_stops(ACCOUNT).await.unwrap();
    let mut senders: Vec<_> = forgotten.iter().map(|stop| (stop.sender.as_deref(), stop.at)).collect();
    senders.sort_unstable();
    assert_eq!(senders, [(None, now), (None, Timestamp(9)), (Some("+4699"), now)]);
    let set = store.opt_out_set(ACCOUNT).await.unwrap();
    for (channel, address, out) in [
        (sms, "+46701234567", true),
        (sms, "46701234567", true),
        (mail, "Ann@x.se", true),
        (mail, "never@x.se", false),
        (sms, "+46701234568", false),
    ] {
        assert_eq!(set.contains(channel, address), out, "{address}");
    }
    assert!(!store.opt_out_set("b").await.unwrap().contains(sms, "+46701234567"));
    store.set_opt_out(ACCOUNT, sms, "+46701234567", false, now).await.unwrap();
    assert!(!store.opt_out_set(ACCOUNT).await.unwrap().contains(sms, "+46701234567"));
    assert_eq!(store.forgotten_stops(ACCOUNT).await.unwrap().len(), 2, "the sender's own stands");
    store.set_sender_opt_out(ACCOUNT, sms, "+46701234567", "+4699", false, now).await.unwrap();
    assert_eq!(store.forgotten_stops(ACCOUNT).await.unwrap().len(), 1);
}

pub(crate) async fn forgotten_stops_are_not_passed_over_where_the_key_is_missing(store: &dyn Store) {
    store.set_opt_out(ACCOUNT, channels::SMS, "+46701234567", true, Timestamp(5)).await.unwrap();
    assert!(store.opt_out_set(ACCOUNT).await.unwrap().contains(channels::SMS, "+46701234567"));
    store.forget_stops(ACCOUNT, vec![stop_of(channels::SMS, "+46701234567", None)]).await.unwrap();
    assert!(store.opt_out_set(ACCOUNT).await.is_err());
}

fn entry(address: &str) -> RosterEntry {
    RosterEntry {
        channel: Some(channels::SMS),
        address: address.to_owned(),
        persons: vec![Person { recipient: "1".to_owned(), name: "Ann".to_owned(), step: 0 }],
        language: None,
        values: Vec::new(),
        not_before: None,
        expires: None,
        rule: 0,
        excluded: None,
        message: None,
    }
}

fn delivery(no: AlertNo, endpoint: u32) -> records::Delivery {
    let [row] = some(no, endpoint..endpoint + 1).try_into().unwrap();
    records::Delivery { state: DeliveryState::Answered, ..row }
}

/// An alert with two endpoints that answered, done at 20 s.
async fn answered(store: &dyn Store) -> AlertNo {
    let no = solving(store, 1).await;
    let block = RosterBlock { entries: vec![entry("+461"), entry("+462")], ..RosterBlock::default() };
    store.put_roster(no, vec![block], AlertState::Running, Timestamp(1)).await.unwrap();
    let answer = |text: &str| {
        Some(Answer {
            key: Some("1".to_owned()),
            text: text.to_owned(),
            via: "sms".to_owned(),
            at: Timestamp(9),
        })
    };
    let rows = [(0, "I am safe"), (1, "At home")].map(|(endpoint, text)| records::Delivery {
        detail: "to +461".to_owned(),
        answer: answer(text),
        ..delivery(no, endpoint)
    });
    store.fold(rows.to_vec(), 1).await.unwrap();
    store.set_alert_state(no, AlertState::Done, 3, "", Timestamp(20_000_000)).await.unwrap();
    no
}

pub(crate) async fn a_block_is_rewritten_and_its_deliveries_lose_their_words_alone(store: &dyn Store) {
    let no = answered(store).await;
    let before = store.deliveries_from(no, EndpointNo(0), None, 9).await.unwrap();
    let forgotten = RosterEntry { address: String::new(), persons: Vec::new(), ..entry("") };
    let block = RosterBlock { entries: vec![forgotten, entry("+462")], ..RosterBlock::default() };
    let folded = FoldedBlock { alert: no, first: EndpointNo(0), entries: 2, octets: block.encode() };
    store.rewrite_block(folded, vec![EndpointNo(0)]).await.unwrap();
    assert_eq!(store.roster_block(no, EndpointNo(1)).unwrap(), Some(block));
    let after = store.deliveries_from(no, EndpointNo(0), None, 9).await.unwrap();
    let mut expected = before[0].clone();
    expected.detail.clear();
    expected.answer.iter_mut().for_each(|answer| answer.text.clear());
    assert_eq!(after, [expected, before[1].clone()]);
    let mut alert = store.alert_by_no(no).await.unwrap().unwrap();
    alert.request.audience[0].to = "erased".to_owned();
    store.rewrite_request(no, &alert.request).await.unwrap();
    assert_eq!(store.alerts_after(ACCOUNT, AlertNo(0), 9).await.unwrap(), [alert]);
    assert_eq!(store.alerts_after(ACCOUNT, no, 9).await.unwrap(), []);
    assert_eq!(store.alerts_after("b", AlertNo(0), 9).await.unwrap(), []);
}

pub(crate) async fn erasures_that_wait_are_listed_until_they_are_done(store: &dyn Store) {
    store.put_erasure("a", "{\"id\":\"1\"}", Timestamp(3)).await.unwrap();
    store.put_erasure("b", "{}", Timestamp(4)).await.unwrap();
    let waiting = store.erasures().await.unwrap();
    let listed: Vec<_> = waiting.iter().map(|one| (&*one.account, &*one.body, one.at)).collect();
    assert_eq!(listed, [("a", "{\"id\":\"1\"}", Timestamp(3)), ("b", "{}", Timestamp(4))]);
    store.remove_erasure(waiting[0].no).await.unwrap();
    assert_eq!(store.erasures().await.unwrap(), waiting[1..]);
}

pub(crate) async fn texts_of_old_answers_go_and_their_keys_stay(store: &dyn Store) {
    let no = asking(store).await;
    let texts = async || {
        let rows = store.deliveries_from(no, EndpointNo(0), None, 9).await.unwrap();
        rows.into_iter()
            .filter_map(|row| row.answer)
            .map(|answer| (answer.key, answer.text))
            .collect::<Vec<_>>()
    };
    let key = || Some("1".to_owned());
    let said = [(key(), "I am safe".to_owned()), (key(), "At home".to_owned())];
    // It takes answers until 61 s.
    for too_early in [20_000_000, 61_000_000] {
        assert_eq!(store.forget_answers_before(Timestamp(too_early), 9).await.unwrap(), []);
        assert_eq!(texts().await, said);
    }
    assert_eq!(store.forget_answers_before(Timestamp(61_000_001), 0).await.unwrap(), []);
    assert_eq!(store.forget_answers_before(Timestamp(61_000_001), 9).await.unwrap(), [no]);
    assert_eq!(texts().await, [(key(), String::new()), (key(), String::new())]);
    assert_eq!(store.forget_answers_before(Timestamp(61_000_001), 9).await.unwrap(), []);
}

/// The same as [`answered`], of an alert that asks for answers.
async fn asking(store: &dyn Store) -> AlertNo {
    let mut alert = super::alert(1);
    (alert.state, alert.request.require_answer) = (AlertState::Solving, true);
    let crate::Accepted::New(alert) = store.accept_alert(alert, None).await.unwrap() else {
        panic!("it is new")
    };
    let block = RosterBlock { entries: vec![entry("+461"), entry("+462")], ..RosterBlock::default() };
    store.put_roster(alert.no, vec![block], AlertState::Running, Timestamp(1)).await.unwrap();
    let rows = [(0, "I am safe"), (1, "At home")].map(|(endpoint, text)| records::Delivery {
        answer: Some(Answer {
            key: Some("1".to_owned()),
            text: text.to_owned(),
            via: "sms".to_owned(),
            at: Timestamp(9),
        }),
        ..delivery(alert.no, endpoint)
    });
    store.fold(rows.to_vec(), 1).await.unwrap();
    store.set_alert_state(alert.no, AlertState::Done, 3, "", Timestamp(20_000_000)).await.unwrap();
    alert.no
}
