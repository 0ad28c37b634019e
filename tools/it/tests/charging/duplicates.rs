//! Stories of repeated requests: done once, and answered twice the same, also after a kill.

use super::{ANN, Ocs};
use diameter::dictionary::avp;
use diameter::header::CommandFlags;
use it::credit::{CreditClient, Draft, ReceivedMessage, TERMINATION, UPDATE, requested, used};

/// Says it again: the first answer must come again, for these Proxy-Info.
#[track_caller]
fn again(client: &mut CreditClient, request: &Draft, first: &ReceivedMessage) {
    let plain = client.ask(request);
    assert_eq!(plain.octets(), first.octets(), "octet for octet where nothing differs");
    let mut proxied = request.clone().flagged(CommandFlags::RETRANSMIT);
    proxied.header.hop_by_hop = !request.header.hop_by_hop;
    let proxied = proxied.with(|writer| {
        writer.group(avp::PROXY_INFO, |info| {
            info.identity(avp::PROXY_HOST, "p.test");
            info.octet_string(avp::PROXY_STATE, b"by another way");
        });
    });
    let answer = client.ask(&proxied);
    assert_eq!(answer.lasting(), first.lasting());
    assert_eq!(answer.all(avp::PROXY_INFO).len(), 1);
    // The same request of the same session under another identifier.
    let mut other = request.clone();
    other.header.end_to_end = !request.header.end_to_end;
    assert_eq!(client.ask(&other).lasting(), first.lasting());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_get_the_first_answer_and_move_nothing_also_after_a_kill() {
    let mut ocs = Ocs::start("", "event_window = \"10m\"").await;
    ocs.fund(ANN, 100).await;
    let name = "twice.client.test";
    let mut client = ocs.client(name);
    let session = client.fresh_session();
    let requests = [
        client.debit(ANN, 30),
        client.debit(ANN, 1_000),
        client.debit("46701740611", 1),
        client.initial(&session, ANN, 10),
        client.credit(&session, UPDATE, 1).with(|writer| {
            requested(writer, 200);
            used(writer, 5);
        }),
        client.credit(&session, TERMINATION, 2).with(|writer| used(writer, 20)),
    ];
    let answers: Vec<ReceivedMessage> = requests.iter().map(|request| client.ask(request)).collect();
    let codes: Vec<u32> = answers.iter().map(ReceivedMessage::code).collect();
    assert_eq!(codes, [2001, 4012, 5030, 2001, 2001, 2001]);
    let money = ocs.money(ANN).await;
    assert_eq!(money, (45, 0, 55));
    let twice = |client: &mut CreditClient| {
        for (request, first) in requests.iter().zip(&answers) {
            again(client, request, first);
        }
    };
    twice(&mut client);
    assert_eq!(ocs.money(ANN).await, money);
    for _ in 0..2 {
        drop(client);
        ocs.kill_and_restart().await;
        client = ocs.client(name);
        assert_eq!(ocs.money(ANN).await, money);
        twice(&mut client);
        assert_eq!(ocs.money(ANN).await, money);
    }
    // Another peer's Session-Id is another session.
    let mut other = ocs.client("other.client.test");
    let update = other.credit(&session, UPDATE, 3).with(|writer| requested(writer, 1));
    assert_eq!(other.ask(&update).code(), 5002);
    client.works(ANN);
    assert_eq!(ocs.money(ANN).await, (44, 0, 56));
}
