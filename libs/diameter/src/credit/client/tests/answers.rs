//! Tests of answers on the wire and their meaning to the machines.

use crate::credit::FailureHandling;
use crate::credit::client::{CreditAnswer, FinalUnitAction, Grant};
use crate::dictionary::avp;
use crate::header::Header;
use crate::message::Message;
use crate::write::Writer;
use std::time::Duration;

fn read(result_code: Option<u32>, more: impl FnOnce(&mut Writer<'_>)) -> CreditAnswer {
    let mut out = Vec::new();
    let header = Header { command: 272, application: 4, ..Header::default() };
    let mut writer = Writer::answer(&mut out, &header);
    if let Some(result_code) = result_code {
        writer.u32(avp::RESULT_CODE, result_code);
    }
    more(&mut writer);
    writer.finish();
    CreditAnswer::read(&Message::read(&out).unwrap())
}

fn code(result_code: u32) -> CreditAnswer {
    read(Some(result_code), |_| {})
}

#[test]
fn result_codes_are_classified_as_section_7_says() {
    for result_code in [3002, 3004, 3005] {
        assert_eq!(code(result_code), CreditAnswer::Temporary { result_code });
    }
    for result_code in [3001, 3007, 4002, 5003, 5005, 5012, 5031] {
        assert_eq!(code(result_code), CreditAnswer::Failed { result_code });
    }
    assert_eq!([code(4010), code(4012)], [CreditAnswer::Denied; 2]);
    assert_eq!([code(4011), code(5030)], [CreditAnswer::NotApplicable, CreditAnswer::UserUnknown]);
    assert_eq!([code(2001), code(2002)], [CreditAnswer::Success(Grant::default()); 2]);
    assert_eq!(read(None, |_| {}), CreditAnswer::Failed { result_code: 0 });
}

#[test]
fn a_grant_is_read_from_the_top_and_from_multiple_services() {
    let answer = read(Some(2001), |writer| {
        writer.i32(avp::CREDIT_CONTROL_FAILURE_HANDLING, 1);
        writer.i32(avp::CC_SESSION_FAILOVER, 1);
        for (validity, action) in [(90, 2), (60, 1)] {
            writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |group| {
                group.u32(avp::VALIDITY_TIME, validity);
                group.group(avp::FINAL_UNIT_INDICATION, |group| group.i32(avp::FINAL_UNIT_ACTION, action));
            });
        }
    });
    let grant = Grant {
        final_unit: Some(FinalUnitAction::Redirect),
        validity: Some(Duration::from_secs(60)),
        failure_handling: Some(FailureHandling::Continue),
        has_failover: Some(true),
    };
    assert_eq!(answer, CreditAnswer::Success(grant));
}
