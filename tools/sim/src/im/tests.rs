//! The networks by a plain HTTP client of one line.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn networks(options: ImOptions) -> Messengers {
    Messengers::start(options).await.unwrap()
}

async fn call(networks: &Messengers, method: &str, target: &str, body: &Value) -> (u16, Value) {
    let mut stream = TcpStream::connect(networks.address()).await.unwrap();
    let body = body.to_string();
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let mut octets = Vec::new();
    loop {
        let mut piece = [0; 4_096];
        let count = stream.read(&mut piece).await.unwrap();
        octets.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&octets).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            return (head.split(' ').nth(1).unwrap().parse().unwrap(), body);
        }
        assert!(count > 0, "cut: {text}");
    }
}

const API: &str = "/_matrix/client/v3";

#[tokio::test]
async fn a_message_of_one_transaction_is_one_event_and_its_reader_sends_a_receipt() {
    let networks = networks(ImOptions::default()).await;
    let body = json!({"invite": ["@a:sim.example"]});
    let (_, room) = call(&networks, "POST", &format!("{API}/createRoom"), &body).await;
    let room = room["room_id"].as_str().unwrap().to_owned();
    let target = format!("{API}/rooms/{room}/send/m.room.message/t1");
    let content = json!({"msgtype": "m.text", "body": "Fire"});
    let first = call(&networks, "PUT", &target, &content).await;
    assert_eq!(first, call(&networks, "PUT", &target, &content).await);
    let stats = networks.stats();
    assert_eq!((stats.accepted, stats.known, stats.repeats), (1, 1, 0));
    assert_eq!(networks.messages(9)[0].address, "matrix:@a:sim.example");
    let mut since = "s0".to_owned();
    for _ in 0..100 {
        let target = format!("{API}/sync?since={since}&timeout=10000");
        let (_, answer) = call(&networks, "GET", &target, &json!(null)).await;
        since = answer["next_batch"].as_str().unwrap().to_owned();
        let receipts = &answer["rooms"]["join"][&room]["ephemeral"]["events"];
        if let Some(content) = receipts.as_array().and_then(|receipts| receipts.first()) {
            let event = first.1["event_id"].as_str().unwrap();
            assert!(content["content"][event]["m.read"]["@a:sim.example"].is_object(), "{content}");
            return;
        }
    }
    panic!("no receipt came");
}

#[tokio::test]
async fn a_button_that_is_pressed_comes_back_until_it_is_taken() {
    let networks = networks(ImOptions::default()).await;
    let keyboard = json!({"inline_keyboard": [[{"text": "Safe", "callback_data": "d"}]]});
    let body = json!({"chat_id": 7, "text": "Fire", "reply_markup": keyboard});
    let (status, sent) = call(&networks, "POST", "/bot1:t/sendMessage", &body).await;
    assert_eq!((status, &sent["result"]["message_id"]), (200, &json!(1)));
    assert!(networks.press("telegram:7", 0) && !networks.press("telegram:7", 3));
    networks.reply("telegram:7", "1", "on my way");
    let (_, answer) = call(&networks, "POST", "/bot1:t/getUpdates", &json!({})).await;
    assert_eq!(answer["result"][0]["callback_query"]["data"], "d");
    assert_eq!(answer["result"][1]["message"]["reply_to_message"]["message_id"], 1);
    let (_, answer) = call(&networks, "POST", "/bot1:t/getUpdates", &json!({"offset": 3})).await;
    assert_eq!(answer["result"], json!([]));
}

#[tokio::test]
async fn limits_blocks_and_unknown_accounts_are_told_as_the_networks_tell_them() {
    let networks = networks(ImOptions { tokens: vec!["1:t".to_owned()], ..ImOptions::default() }).await;
    let body = json!({"chat_id": 7, "text": "Fire"});
    let of = async |token: &str| call(&networks, "POST", &format!("/bot{token}/sendMessage"), &body).await;
    assert_eq!(of("2:t").await.0, 401);
    networks.throttle(1, Duration::from_secs(2));
    let (status, answer) = of("1:t").await;
    assert_eq!((status, &answer["parameters"]["retry_after"]), (429, &json!(2)));
    assert_eq!(of("1:t").await.0, 200);
    networks.block("telegram:7");
    let (status, answer) = of("1:t").await;
    assert_eq!((status, &answer["description"]), (403, &json!("Forbidden: bot was blocked by the user")));
    let (status, answer) = call(&networks, "GET", &format!("{API}/account/whoami"), &json!(null)).await;
    assert_eq!((status, &answer["errcode"]), (401, &json!("M_UNKNOWN_TOKEN")));
}
