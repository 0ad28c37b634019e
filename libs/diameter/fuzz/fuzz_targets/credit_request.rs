//! Any AVPs as a Credit-Control-Request: what is read can be asked for everything, and is answered in the
//! answer's grammar; so is what is refused.
#![no_main]

use diameter::Message;
use diameter::check::{Origin, check};
use diameter::credit::CreditControlRequest;
use diameter::credit::answer::{CreditControlAnswer, Grant, repeat};
use diameter::dictionary::avp;
use libfuzzer_sys::fuzz_target;

const ORIGIN: Origin<'static> = Origin { host: "a.example", realm: "example" };

fuzz_target!(|bytes: &[u8]| {
    // The header is a CCR's, so that the fuzzer need not find it.
    let avps = &bytes[..bytes.len() & !3];
    let length = (avps.len() as u32 + 20).to_be_bytes();
    let head = [1, length[1], length[2], length[3], 0xC0, 0, 1, 16, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2];
    let frame = [&head[..], avps].concat();
    let message = Message::read(&frame).expect("the header is right");
    let mut out = Vec::new();
    match CreditControlRequest::read(&message) {
        Ok(request) => {
            request.services().flatten().for_each(|service| {
                service.used().flatten().count();
                service.pools().count();
            });
            request.used().flatten().count();
            request.subscriptions().count();
            let _ = request.sms().map(|sms| (sms.originator(), sms.recipients().count(), sms.parts()));
            let granted = request.requested.map(Grant::of);
            let answer = CreditControlAnswer { result_code: 2001, granted, ..CreditControlAnswer::default() };
            answer.write(&request, &ORIGIN, &mut out);
            let mut again = Vec::new();
            assert_eq!(repeat(&out, &message, &mut again), out.len());
        }
        Err(fault) => fault.answer(&message, &ORIGIN, None, &mut out),
    }
    let answer = Message::read(&out).expect("the answer is a message");
    assert!(answer.avps().all(|avp| avp.is_ok()));
    // A Proxy-Info is repeated as it came, whatever its proxy put into it.
    if let Err(fault) = check(&answer)
        && answer.find(avp::PROXY_INFO).is_none()
    {
        panic!("{fault}");
    }
});
