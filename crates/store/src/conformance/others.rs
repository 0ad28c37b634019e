use super::ACCOUNT;
use super::alerts::accept;
use crate::{PerhapsStop, Store, StoreError};
use records::{AlertNo, CallbackEvent, CallbackRequest, Group, JoinRule, Role, Rule, Test, Timestamp, Token};

pub(crate) async fn a_token_is_found_by_its_hash_until_revoked(store: &dyn Store) {
    let (ann, bo) = (token("1", 1, "a"), token("2", 2, "b"));
    store.put_token(ann.clone()).await.unwrap();
    store.put_token(bo.clone()).await.unwrap();
    assert_eq!(store.token_by_hash([1; 32]).await.unwrap(), Some(ann.clone()));
    assert_eq!(store.token_by_hash([3; 32]).await.unwrap(), None);
    assert_eq!(store.tokens(Some("b")).await.unwrap(), vec![bo.clone()]);
    assert!(store.revoke_token("1", Timestamp(9)).await.unwrap());
    assert!(!store.revoke_token("1", Timestamp(10)).await.unwrap());
    assert!(!store.revoke_token("7", Timestamp(10)).await.unwrap());
    assert_eq!(store.token_by_hash([1; 32]).await.unwrap(), None);
    let revoked = Token { revoked: Some(Timestamp(9)), ..ann.clone() };
    assert_eq!(store.tokens(None).await.unwrap(), [revoked, bo]);
    let again = store.put_token(ann).await;
    assert!(matches!(again, Err(StoreError::Conflict { .. })), "{again:?}");
}

pub(crate) async fn revocations_are_counted_and_told_of_the_tokens_in_use(store: &dyn Store) {
    for n in 1..=3 {
        store.put_token(token(&n.to_string(), n, "a")).await.unwrap();
    }
    assert_eq!(store.revocations().await.unwrap(), 0);
    assert!(store.revoke_token("2", Timestamp(9)).await.unwrap());
    assert!(store.revoke_token("3", Timestamp(9)).await.unwrap());
    assert_eq!(store.revocations().await.unwrap(), 2);
    let ids = ["1", "2", "unknown"].map(str::to_owned).to_vec();
    assert_eq!(store.revoked_of(ids).await.unwrap(), ["2"]);
}

pub(crate) async fn groups_are_put_replaced_listed_and_deleted(store: &dyn Store) {
    let rule = Rule::Any(vec![
        Rule::Not(Box::new(Rule::Test { attribute: "floor".to_owned(), test: Test::AtLeast(3) })),
        Rule::Test { attribute: "role".to_owned(), test: Test::In(vec!["nurse".to_owned()]) },
    ]);
    let staff = Group {
        id: "staff".to_owned(),
        name: "Staff".to_owned(),
        members: vec!["1".to_owned()],
        groups: vec!["fire".to_owned()],
        rule: Some(rule),
        join: JoinRule::Approval,
    };
    let fire = Group { id: "fire".to_owned(), ..Group::default() };
    let first = store.put_group(ACCOUNT, staff.clone()).await.unwrap();
    store.put_group(ACCOUNT, fire.clone()).await.unwrap();
    assert_eq!(store.group(ACCOUNT, "staff").await.unwrap(), Some((staff.clone(), first)));
    let renamed = Group { name: "All staff".to_owned(), ..staff.clone() };
    let second = store.replace_group(ACCOUNT, renamed.clone(), first).await.unwrap().unwrap();
    assert_eq!(store.replace_group(ACCOUNT, staff, first).await.unwrap(), None);
    assert_eq!(store.group(ACCOUNT, "staff").await.unwrap(), Some((renamed.clone(), second)));
    assert_eq!(store.groups_after(ACCOUNT, "", 10).await.unwrap(), [fire.clone(), renamed]);
    assert_eq!(store.groups_after(ACCOUNT, "", 1).await.unwrap(), [fire]);
    assert!(store.group_exists(ACCOUNT, "staff").await.unwrap());
    assert!(store.delete_group(ACCOUNT, "staff").await.unwrap());
    assert!(!store.delete_group(ACCOUNT, "staff").await.unwrap());
    assert!(!store.group_exists(ACCOUNT, "staff").await.unwrap());
    assert_eq!(store.group("b", "fire").await.unwrap(), None);
}

pub(crate) async fn a_group_exists_when_a_recipient_names_it(store: &dyn Store) {
    store.put_recipients(ACCOUNT, vec![super::member("1", &["night"])]).await.unwrap();
    assert!(store.group_exists(ACCOUNT, "night").await.unwrap());
    assert!(!store.group_exists("b", "night").await.unwrap());
    store.delete_recipient(ACCOUNT, "1").await.unwrap();
    assert!(!store.group_exists(ACCOUNT, "night").await.unwrap());
}

pub(crate) async fn an_opt_out_stands_until_it_is_taken_back(store: &dyn Store) {
    let now = Timestamp(5);
    for (channel, address) in [(channels::MAIL, "b@x.se"), (channels::SMS, "+461"), (channels::SMS, "+461")] {
        store.set_opt_out(ACCOUNT, channel, address, true, now).await.unwrap();
    }
    let both = vec![(channels::SMS, "+461".to_owned()), (channels::MAIL, "b@x.se".to_owned())];
    assert_eq!(store.opt_outs(ACCOUNT).await.unwrap(), both);
    assert_eq!(store.opt_outs("b").await.unwrap(), []);
    store.set_opt_out(ACCOUNT, channels::SMS, "+461", false, now).await.unwrap();
    assert_eq!(store.opt_outs(ACCOUNT).await.unwrap(), both[1..]);
}

pub(crate) async fn observers_belong_to_their_alert(store: &dyn Store) {
    let (first, second) = (accept(store, 1).await, accept(store, 2).await);
    let request = CallbackRequest {
        url: "https://x.se/hook".to_owned(),
        every_s: 30,
        xml: true,
        events: vec![CallbackEvent::Answer, CallbackEvent::Done],
    };
    let id = store.put_observer(first, request.clone()).await.unwrap();
    let other = store.put_observer(first, request.clone()).await.unwrap();
    assert_eq!(store.observers(first).await.unwrap(), [(id, request.clone()), (other, request.clone())]);
    assert_eq!(store.observers(second).await.unwrap(), []);
    assert!(!store.delete_observer(second, id).await.unwrap());
    assert!(store.delete_observer(first, id).await.unwrap());
    assert_eq!(store.observers(first).await.unwrap(), [(other, request.clone())]);
    let nobodys = store.put_observer(AlertNo(99), request).await;
    assert!(matches!(nobodys, Err(StoreError::Conflict { .. })), "{nobodys:?}");
}

pub(crate) fn token(id: &str, hash: u8, account: &str) -> Token {
    Token {
        id: id.to_owned(),
        hash: [hash; 32],
        role: Role::Operator,
        account: account.to_owned(),
        name: "ci".to_owned(),
        created: Timestamp(i64::from(hash)),
        revoked: None,
    }
}

pub(crate) async fn stops_are_found_by_address_in_whatever_form_they_were_stored(store: &dyn Store) {
    let (sms, now) = (channels::SMS, Timestamp(5));
    store.set_opt_out(ACCOUNT, sms, "46701740001", true, now).await.unwrap();
    store.set_sender_opt_out(ACCOUNT, sms, "+46701740002", "71700", true, now).await.unwrap();
    let people = vec![(sms, "+46701740003".to_owned()), (channels::MAIL, "ann@x.se".to_owned())];
    store.put_opt_outs(ACCOUNT, people, now).await.unwrap();
    let set = store.opt_out_set(ACCOUNT).await.unwrap();
    assert!(set.contains(sms, "+46701740001") && set.contains(channels::MAIL, "Ann@x.se"));
    assert!(!set.contains(sms, "+46701740002"), "it was said to one sender");
    let numbers = channels::Defaults::default();
    assert!(set.clone().with_those_said_to(|to| to == "71700", &numbers).contains(sms, "+46701740002"));
    assert!(!set.with_those_said_to(|to| to == "71701", &numbers).contains(sms, "+46701740002"));
    let asked = ["+46701740001", "+46701740002", "+46701740003", "+46701740004"];
    let asked = asked.map(|address| (sms, address.to_owned())).to_vec();
    let found = store.stops_of(ACCOUNT, asked.clone()).await.unwrap();
    let found: Vec<_> = found.iter().map(|stop| (stop.address.as_str(), stop.sender.as_deref())).collect();
    assert_eq!(found, [("+46701740001", None), ("+46701740002", Some("71700")), ("+46701740003", None)]);
    assert_eq!(store.stops_of("b", asked).await.unwrap(), []);
}

pub(crate) async fn words_that_are_perhaps_a_stop_wait_for_a_decision(store: &dyn Store) {
    let perhaps = |address: &str, text: &str| PerhapsStop {
        no: 0,
        channel: channels::SMS,
        address: address.to_owned(),
        sender: "71700".to_owned(),
        text: text.to_owned(),
        at: Timestamp(5),
    };
    let texts = async |account: &str| -> Vec<(u64, String)> {
        let listed = store.perhaps_stops(account, 0, 10).await.unwrap();
        listed.into_iter().map(|one| (one.no, one.text)).collect()
    };
    for (address, text) in [("+461", "do stop"), ("+462", "stop it, you"), ("+461", "stop this noise")] {
        store.note_perhaps_stop(ACCOUNT, perhaps(address, text)).await.unwrap();
    }
    let listed = texts(ACCOUNT).await;
    let newest: Vec<&str> = listed.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(newest, ["stop it, you", "stop this noise"], "the newest of each address");
    assert_eq!(texts("b").await, []);
    assert_eq!(store.perhaps_stops(ACCOUNT, listed[0].0, 10).await.unwrap().len(), 1);
    assert_eq!(store.remove_perhaps_stop("b", listed[0].0).await.unwrap(), None);
    let removed = store.remove_perhaps_stop(ACCOUNT, listed[0].0).await.unwrap().unwrap();
    assert_eq!((removed.address.as_str(), removed.sender.as_str()), ("+462", "71700"));
    assert_eq!(store.remove_perhaps_stop(ACCOUNT, listed[0].0).await.unwrap(), None);
    store.set_opt_out(ACCOUNT, channels::SMS, "+461", true, Timestamp(6)).await.unwrap();
    assert_eq!(texts(ACCOUNT).await, [], "their own word decides");
}
