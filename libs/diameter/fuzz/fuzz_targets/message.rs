//! Any octets as a message: it is checked, and where it is refused the answer keeps its own grammar. What is
//! walked can be written, and is the same again.
#![no_main]

use diameter::avp::Avps;
use diameter::check::{Origin, check};
use diameter::dictionary::avp;
use diameter::{Message, Writer};
use libfuzzer_sys::fuzz_target;

const ORIGIN: Origin<'static> = Origin { host: "a.example", realm: "example" };

/// Every AVP, and every one in it as if it were a group. Ends by the limit on depth.
fn walk(avps: Avps<'_>) -> usize {
    avps.map_while(Result::ok).map(|avp| 1 + walk(avp.group())).sum()
}

fuzz_target!(|bytes: &[u8]| {
    // Version and length are made right, so that the fuzzer need not find them.
    let mut frame = bytes[..bytes.len() & !3].to_vec();
    if frame.len() < 20 {
        return;
    }
    let length = (frame.len() as u32).to_be_bytes();
    frame[..4].copy_from_slice(&[1, length[1], length[2], length[3]]);
    let message = Message::read(&frame).expect("version and length are right");
    walk(message.avps());

    let mut again = Vec::new();
    let mut writer = Writer::message(&mut again, &message.header);
    message.avps().map_while(Result::ok).for_each(|avp| writer.copy(&avp));
    writer.finish();
    let copied = Message::read(&again).expect("what was written can be read");
    assert!(copied.avps().map(|avp| avp.expect("sound")).eq(message.avps().map_while(Result::ok)));

    if let Err(fault) = check(&message)
        && message.header.flags.is_request()
    {
        let mut out = Vec::new();
        fault.answer(&message, &ORIGIN, None, &mut out);
        let answer = Message::read(&out).expect("the answer is a message");
        let code = answer.find(avp::RESULT_CODE).and_then(|avp| avp.u32().ok());
        assert_eq!(code, Some(fault.result_code));
        assert!(answer.avps().all(|avp| avp.is_ok()));
    }
});
