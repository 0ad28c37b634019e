//! Mail to a server that nobody here wrote: Debian's OpenSMTPD, which delivers to mailboxes.

use crate::fixtures::{SOON, count};
use it::{OpenSmtpd, Server, eventually, mail_route};
use mail_parser::{Message, MessageParser};
use serde_json::json;

#[tokio::test]
async fn a_mail_is_delivered_and_read_and_an_unknown_user_is_refused_in_the_servers_words() {
    let smtpd = OpenSmtpd::start(&["alice", "bob"]).await;
    let server = Server::start(&mail_route("relay", smtpd.address(), "")).await;
    let api = server.api();
    api.add_recipients(&json!([
        {"id": "alice", "name": "Alice Å", "devices": [{"channel": "mail", "address": "alice@town.test"}]},
        {"id": "bob", "name": "Bob", "devices": [{"channel": "mail", "address": "bob@town.test"}]},
        {"id": "eve", "name": "Eve", "devices": [{"channel": "mail", "address": "eve@town.test"}]},
    ]))
    .await;
    let id = api
        .submit(&json!({
            "headline": "Översvämning 🔔", "audience": ["all"],
            "texts": {"mail": {"subject": "Översvämning 🔔", "text": "Hej {{name}},\n.\nstay away from the river.", "html": "<p>Hej <b>{{name}}</b></p>"}},
        }))
        .await;
    let report = api.done(&id, SOON).await;
    assert_eq!((count(&report, "accepted"), count(&report, "failed")), (2, 1), "{report}");

    let refused = api.deliveries(&id).await.into_iter().find(|it| it["address"] == "eve@town.test").unwrap();
    assert_eq!(refused["state"], "failed");
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.contains("Invalid recipient"), "the server's words are there: {reason}");
    assert!(reason.contains("550"), "and its code: {reason}");
    assert_eq!(refused["attempts"], 1, "what is refused for good is not tried again");

    for (user, name) in [("alice", "Alice Å"), ("bob", "Bob")] {
        let mails = eventually("it is in the mailbox", SOON, async || {
            let mails = smtpd.mails(user);
            if mails.is_empty() { Err("nothing") } else { Ok(mails) }
        })
        .await;
        assert_eq!(mails.len(), 1);
        let mail: Message = MessageParser::default().parse(&mails[0]).unwrap();
        assert_eq!(mail.subject(), Some("Översvämning 🔔"));
        let text = mail.body_text(0).unwrap().replace("\r\n", "\n");
        assert!(text.starts_with(&format!("Hej {name},\n.\nstay away from the river.")), "{text}");
        assert!(mail.body_html(0).unwrap().contains(&format!("<b>{name}</b>")));
        assert!(mail.message_id().is_some());
        assert_eq!(mail.from().unwrap().first().unwrap().address(), Some("alerts@city.test"));
        assert_eq!(mail.to().unwrap().first().unwrap().address(), Some(format!("{user}@town.test").as_str()));
    }
}
