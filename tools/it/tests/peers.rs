//! The peers themselves: what is not there would make a test of nothing.

use it::{Api, Callbacks, NpmSmsc, NpmSmscOptions, OpenSmtpd};
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

#[tokio::test]
async fn npms_smsc_listens() {
    let smsc = NpmSmsc::start(NpmSmscOptions::default()).await;
    tokio::net::TcpStream::connect(smsc.address()).await.unwrap();
    assert!(smsc.events("bind").is_empty());
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
