//! Debian's Kannel: bound to us as a platform, and beside us, asked the same.

use crate::fixtures::{SOON, carrier, carrier_that, number};
use it::{
    Callbacks, Kannel, SendSms, Server, escaped, eventually, free_port, platform, smpp_client, smpp_door,
    sms_route,
};
use sim::smsc::{ErrorShare, Injection, Prefix, ReceiptStage, Smsc, SmscOptions, StateShare};

/// Our number that platforms hear.
const OURS: &str = "71700";

fn digits(number: &str) -> String {
    number.trim_start_matches('+').to_owned()
}

fn says(carrier: &Smsc, person: &str, text: &str) {
    let injection = Injection {
        from: digits(person),
        to: OURS.to_owned(),
        text: text.to_owned(),
        account: None,
        long: None,
    };
    carrier.inject(&injection).unwrap();
}

/// Kannel's two programs find each other a moment after they listen.
async fn taken(kannel: &SendSms, query: &str) {
    eventually("Kannel takes a message", SOON, async || match kannel.get(query).await {
        (202, _) => Ok(()),
        (status, words) => Err(format!("{status} {words}")),
    })
    .await;
}

#[tokio::test]
async fn a_bearerbox_submits_to_us_gets_receipts_and_what_people_say() {
    let (carrier, callbacks, port) = (carrier().await, Callbacks::start().await, free_port());
    let config = [
        smpp_door(port),
        smpp_client("kannel", &format!("numbers = [\"{OURS}\"]")),
        sms_route("carrier", carrier.address(), ""),
    ];
    let _server = Server::start(&config.concat()).await;
    let listener = callbacks.url();
    let kannel = Kannel::start(port, &format!("{listener}?from=%p&text=%b&coding=%c")).await;
    let smsbox = SendSms::new(&kannel.sendsms(), "tester");
    let dlr_url = escaped(&format!("{listener}?told=%d"));
    let long = "Η πλατεία είναι κλειστή 🔔 μείνετε σπίτι 🏠. ".repeat(5).trim().to_owned();
    let texts = [("Dinner is ready", "coding=0"), (long.as_str(), "coding=2&charset=UTF-8")];
    for (place, (text, coding)) in texts.into_iter().enumerate() {
        let to = number(place as u64);
        let to_escaped = escaped(&to);
        let query = format!(
            "to={to_escaped}&from={OURS}&text={}&{coding}&dlr-mask=31&dlr-url={dlr_url}",
            escaped(text)
        );
        taken(&smsbox, &query).await;
        eventually("it is at the carrier", SOON, async || match carrier.accepted(&to, text) {
            1 => Ok(()),
            _ => Err(format!("{:?}", carrier.messages(5))),
        })
        .await;
    }
    // We took it (8), it arrived (1): for the short one, and for each of the long one's parts or for the
    // whole of it.
    eventually("its listener is told", SOON, async || {
        let told = targets(&callbacks, "told=");
        let count = |of: &str| told.iter().filter(|target| target.ends_with(of)).count();
        let (taken, arrived) = (count("told=8"), count("told=1"));
        if arrived >= 2 && taken == arrived { Ok(()) } else { Err(format!("{told:?}")) }
    })
    .await;

    let long = "Kommer snart 🔔, vi äter klockan sju. ".repeat(5).trim().to_owned();
    for text in ["On my way", "Hälsa €", &long] {
        says(&carrier, &number(0), text);
        heard(&callbacks, &format!("?from=%2B{}&text={}&coding=0", digits(&number(0)), kannels(text))).await;
    }
}

/// A text as Kannel escapes it: blanks become `+`.
fn kannels(text: &str) -> String {
    escaped(text).replace("%20", "+").replace("%2A", "*")
}

/// What was called so far that has these words.
fn targets(callbacks: &Callbacks, words: &str) -> Vec<String> {
    callbacks.calls().into_iter().map(|call| call.target).filter(|target| target.contains(words)).collect()
}

async fn heard(callbacks: &Callbacks, words: &str) {
    eventually(&format!("{words} is heard"), SOON, async || {
        let all = targets(callbacks, "");
        if all.iter().any(|target| target.contains(words)) { Ok(()) } else { Err(format!("{all:#?}")) }
    })
    .await;
}

/// Kannel before one carrier, we before another that does the same; each with its own listener.
struct Both {
    carriers: [Smsc; 2],
    listeners: [Callbacks; 2],
    platforms: [SendSms; 2],
    _kannel: Kannel,
    _server: Server,
}

const ESCAPES: &str = "p=%p&P=%P&b=%b&a=%a&k=%k&s=%s&r=%r&e=%e&i=%i&c=%c&C=%C&m=%m&u=%u&B=%B&q=%q&Q=%Q&pc=%%";

impl Both {
    async fn begin() -> Both {
        let carriers = [carrier_that(moody).await, carrier_that(moody).await];
        let listeners = [Callbacks::start().await, Callbacks::start().await];
        let callback = |place: usize| format!("{}?{ESCAPES}", listeners[place].url());
        let keys = format!("callback = \"{}\"\nnumbers = [\"{OURS}\"]\nsender = \"7000\"", callback(1));
        let route = sms_route("carrier", carriers[1].address(), "prefixes = [\"+46\"]");
        let server = Server::start(&[platform("tester", &keys), route].concat()).await;
        let kannel = Kannel::start(carriers[0].address().port(), &callback(0)).await;
        let ours = format!("{}/cgi-bin/sendsms", server.url());
        let platforms = [SendSms::new(&kannel.sendsms(), "tester"), SendSms::new(&ours, "tester")];
        for (place, platform) in platforms.iter().enumerate() {
            taken(platform, &format!("to={}&text=warm", escaped(&number(94)))).await;
            arrived(&carriers[place], &number(94), "warm").await;
        }
        Both { carriers, listeners, platforms, _kannel: kannel, _server: server }
    }
}

async fn arrived(carrier: &Smsc, to: &str, text: &str) {
    eventually("it is at the carrier", SOON, async || match carrier.accepted(to, text) {
        0 => Err(format!("{:?}", carrier.messages(5))),
        _ => Ok(()),
    })
    .await;
}

/// Some numbers cannot be reached, some are refused.
fn moody(options: &mut SmscOptions) {
    let prefix = |place| Prefix { prefix: digits(&number(place)), ..Prefix::default() };
    options.prefixes = vec![
        Prefix {
            states: Some(vec![StateShare { state: ReceiptStage::Undeliverable, share: 1.0, error: 11 }]),
            ..prefix(1)
        },
        Prefix {
            errors: Some(vec![ErrorShare { status: "RINVDSTADR".to_owned(), share: 1.0 }]),
            ..prefix(2)
        },
        Prefix {
            states: Some(vec![StateShare { state: ReceiptStage::Rejected, share: 1.0, error: 99 }]),
            ..prefix(3)
        },
    ];
}

#[tokio::test]
async fn kannel_and_we_answer_the_same_and_hand_the_same_over() {
    let both = Both::begin().await;
    let to = |place| format!("to={}", escaped(&number(place)));
    let long = "x".repeat(400);
    let requests = [
        format!("{}&from=7001&text=Hello", to(10)),
        format!("{}&text=one+two%20three%26four", to(11)),
        format!("{}&from=Campanile&text=Gr%C3%BC%C3%9Fe%20%E2%82%AC", to(12)),
        format!("{}&coding=2&charset=UTF-8&text={}", to(13), escaped("Привет 🙂")),
        format!("{}&coding=1&text=%00%01%FE%FF&udh=%06%05%04%0B%84%23%F0", to(14)),
        format!("{}&text={long}", to(15)),
        format!("{}&charset=ISO-8859-1&text=Gr%FC%DFe&mclass=1", to(16)),
        format!("{}&coding=2&charset=UTF-8&text={}", to(17), escaped(&"П".repeat(100))),
        format!("to={}+{}&text=both", escaped(&number(18)), escaped(&number(19))),
        "text=Hello".to_owned(),
        "to=abc&text=Hello".to_owned(),
        "to=9991&text=Hello".to_owned(),
        format!("{}&smsc=nowhere&text=Hello", to(20)),
        format!("{}&coding=3&text=Hello", to(20)),
        format!("{}&charset=klingon&text=Hello", to(20)),
        format!("{}&dlr-mask=-2&text=Hello", to(20)),
        format!("{}&validity=60&priority=1&text=Hello", to(21)),
    ];
    for request in &requests {
        let [kannels, ours] = [both.platforms[0].get(request).await, both.platforms[1].get(request).await];
        assert_eq!(ours, kannels, "{request}");
    }
    let seen = |carrier: &Smsc| {
        let mut seen: Vec<_> = carrier
            .messages(1_000)
            .into_iter()
            .map(|it| (digits(&it.to), digits(&it.from), it.text, it.data_coding, it.parts))
            .collect();
        seen.sort();
        seen
    };
    let all = eventually("the same is at both carriers", SOON, async || {
        let [kannels, ours] = [seen(&both.carriers[0]), seen(&both.carriers[1])];
        if kannels.len() >= 12 && kannels == ours {
            Ok(kannels)
        } else {
            Err(format!("{kannels:#?}\n{ours:#?}"))
        }
    })
    .await;
    assert_eq!(all.len(), 12, "{all:#?}");

    let nobody = both.platforms[1].named("nobody");
    assert_eq!(nobody.get(&requests[0]).await, (403, "Authorization failed for sendsms".to_owned()));
}

#[tokio::test]
async fn kannel_and_we_tell_listeners_the_same_with_the_same_escapes() {
    let both = Both::begin().await;
    // Whom, the mask, how many calls.
    let cases = [
        (0, 31, 3),
        (0, 27, 2),
        (0, 1, 1),
        (0, 8, 1),
        (1, 27, 2),
        (1, 2, 1),
        (2, 31, 1),
        (2, 3, 1),
        (3, 3, 1),
    ];
    let escapes = "d=%d&A=%A&a=%a&F=%F&p=%p&P=%P&i=%i&n=%n&b=%b&k=%k&c=%c&B=%B&C=%C";
    for (case, (place, mask, calls)) in cases.into_iter().enumerate() {
        let mut told = Vec::new();
        for (platform, listener) in both.platforms.iter().zip(&both.listeners) {
            let dlr_url = escaped(&format!("{}?case={case}&{escapes}", listener.url()));
            let to = escaped(&number(place));
            let query =
                format!("to={to}&from=7001&text=Hello&account=water&dlr-mask={mask}&dlr-url={dlr_url}");
            assert_eq!(platform.get(&query).await.0, 202);
            let case = format!("?case={case}&");
            let heard = eventually("the listener is told", SOON, async || {
                let heard = targets(listener, &case);
                if heard.len() >= calls { Ok(heard) } else { Err(format!("{query}: {heard:?}")) }
            })
            .await;
            let mut heard: Vec<String> =
                heard.iter().map(|target| without_words(&without_ids(target))).collect();
            heard.sort();
            told.push(heard);
        }
        assert_eq!(told[1], told[0], "to {} with mask {mask}: first we, then Kannel", number(place));
    }
    for text in ["Yes  we can* come & go", "STOP the noise", "Hälsa €", "Kommer snart 🔔"] {
        let mut told = Vec::new();
        for (carrier, listener) in both.carriers.iter().zip(&both.listeners) {
            let before = targets(listener, "&pc=%").len();
            says(carrier, &number(5), text);
            let heard = eventually("the listener is told", SOON, async || {
                let heard = targets(listener, "&pc=%");
                heard.get(before).cloned().ok_or(format!("{text}: {:?}", targets(listener, "")))
            })
            .await;
            told.push(heard);
        }
        assert_eq!(told[1], told[0], "first we, then Kannel");
    }
}

/// A refusal is told by its number (SMPP 3.4, section 5.1.3); the words behind it are each one's own.
fn without_words(target: &str) -> String {
    const NUMBER: &str = "NACK%2F0x0000000b";
    let fields = target.split('&').map(|field| match field.find(NUMBER) {
        Some(at) => &field[..at + NUMBER.len()],
        None => field,
    });
    fields.collect::<Vec<_>>().join("&")
}

/// Ids of carriers and dates are different each time: runs of digits that are no number of ours.
fn without_ids(target: &str) -> String {
    const RUN: usize = 8;
    let mut out = String::new();
    let mut run = String::new();
    for character in target.chars().chain(['\0']) {
        if character.is_ascii_digit() {
            run.push(character);
            continue;
        }
        let is_ours = run.starts_with("4670174");
        out += if run.len() >= RUN && !is_ours { "N" } else { &run };
        run.clear();
        out.push(character);
    }
    out
}
