//! The peers themselves: what is not there would make a test of nothing.

use crate::fixtures::{SOON, carrier};
use it::{
    Api, Callbacks, Esme, EsmeBy, ForeignSmsc, ForeignSmscOptions, Kannel, Login, OpenSmtpd, SmscBy,
    eventually,
};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

#[tokio::test]
async fn opensmtpd_refuses_whom_it_does_not_know() {
    let smtpd = OpenSmtpd::start(&["alice"]).await;
    let stream = tokio::net::TcpStream::connect(smtpd.address()).await.unwrap();
    let mut stream = BufReader::new(stream);
    let mut heard = Vec::new();
    for line in
        ["", "HELO me.test", "MAIL FROM:<a@me.test>", "RCPT TO:<alice@town.test>", "RCPT TO:<bob@town.test>"]
    {
        if !line.is_empty() {
            stream.write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
        }
        let mut answer = String::new();
        stream.read_line(&mut answer).await.unwrap();
        heard.push(answer[..3].to_owned());
    }
    assert_eq!(heard, ["220", "250", "250", "250", "550"]);
    assert!(smtpd.mails("alice").is_empty());
}

/// Without us between: what these do not do together, they do not do with us.
#[tokio::test]
async fn every_foreign_esme_binds_to_every_foreign_smsc_and_submits() {
    for by in [SmscBy::Npm, SmscBy::Jsmpp, SmscBy::Cloudhopper] {
        let smsc = ForeignSmsc::start(by, ForeignSmscOptions::default()).await;
        let port = smsc.address().rsplit(':').next().unwrap().parse().unwrap();
        let each = EsmeBy::ALL.map(async |by| {
            // npm's SMSC brings receipts to any session of a name.
            let esme = Esme::bind(by, &Login::new(port, &format!("{by:?}"))).await;
            esme.submit("123", "46701740605", "hello", &[("receipt", "1")]).await;
            assert_eq!(esme.until("receipt", 1).await[0]["stat"], "DELIVRD", "{by:?}");
        });
        futures_util::future::join_all(each).await;
        assert_eq!(smsc.events("submit").len(), EsmeBy::ALL.len());
        let wrong = Login { password: "wrong".to_owned(), ..Login::new(port, "peer") };
        assert!(Esme::try_bind(EsmeBy::Npm, &wrong).await.is_err());
    }
}

#[tokio::test]
async fn kannel_binds_submits_and_calls_back() {
    let (carrier, callbacks) = (carrier().await, Callbacks::start().await);
    let kannel = Kannel::start(carrier.address().port(), &format!("{}?text=%b", callbacks.url())).await;
    let query = "username=tester&password=secret&to=%2B46701740605&text=hello";
    let anybody = Api::new("", "");
    // It listens before its own two programs have found each other.
    eventually("Kannel takes a message", SOON, async || {
        let reply = anybody.get(&format!("{}?{query}", kannel.sendsms())).await;
        if reply.status == 202 { Ok(()) } else { Err(reply.text) }
    })
    .await;
    eventually("it is at the carrier", SOON, async || {
        let messages = carrier.messages(10);
        if messages.iter().any(|message| message.text == "hello") {
            Ok(())
        } else {
            Err(format!("{messages:?}"))
        }
    })
    .await;
}

#[tokio::test]
async fn a_callback_is_kept_and_answered_as_told() {
    let callbacks = Callbacks::start().await;
    callbacks.answer_first(&[503]);
    let anybody = Api::new("", "");
    for expected in [503, 200] {
        let answer = anybody.post(&callbacks.url(), &json!({"a": 1})).await;
        assert_eq!(answer.status, expected);
    }
    assert_eq!(callbacks.calls()[1].json()["a"], 1);
}
