use super::*;

#[test]
fn every_avp_is_found_by_its_own_name_and_under_no_other_vendor() {
    for rule in rules() {
        assert_eq!(lookup(rule.name).map(|found| found.text), Some(rule.text));
        assert!(lookup(AvpName { vendor: 4242, ..rule.name }).is_none(), "{}", rule.text);
    }
    assert!(lookup(AvpName::ietf(0)).is_none() && lookup(AvpName::ietf(u32::MAX)).is_none());
    assert!(lookup(AvpName { code: 263, vendor: vendor::TGPP }).is_none(), "no Session-Id of 3GPP");
    assert!(lookup(AvpName::ietf(873)).is_none(), "Service-Information is 3GPP's");
}

#[test]
fn the_flags_are_those_of_the_standards() {
    for (name, flags) in [
        (avp::SESSION_ID, 0x40),
        (avp::PRODUCT_NAME, 0),
        (avp::ERROR_MESSAGE, 0),
        (avp::CC_CORRELATION_ID, 0),
        (avp::SERVICE_INFORMATION, 0xC0),
        (avp::TGPP_CG_ADDRESS, 0x80),
        (AvpName::ietf(70_000), 0),
        (AvpName { code: 1, vendor: 9 }, 0x80),
    ] {
        assert_eq!(flags_sent(name), AvpFlags(flags), "{name}");
    }
}

#[test]
fn grammars_know_what_they_require_and_forbid() {
    let ccr = command_rule(command::CREDIT_CONTROL, true).unwrap();
    assert_eq!((ccr.text, ccr.is_proxiable, ccr.grammar().text), ("CCR", true, "Credit-Control-Request"));
    let grammar = ccr.grammar();
    let slot = |name| grammar.slot(lookup_numbered(name).unwrap().0);
    let has = |mask: u64, name| mask >> slot(name) & 1 == 1;
    assert!(grammar.is_open);
    assert_eq!(grammar.required.count_ones(), 8);
    assert!(has(grammar.required, avp::SERVICE_CONTEXT_ID) && has(grammar.single, avp::SERVICE_CONTEXT_ID));
    assert!(!has(grammar.required, avp::SUBSCRIPTION_ID) && !has(grammar.single, avp::SUBSCRIPTION_ID));
    assert!(has(grammar.banned, avp::RESULT_CODE) && !has(grammar.banned, avp::USER_NAME));
    assert_eq!(slot(avp::TGPP_IMSI), NO_SLOT);
    assert_eq!(
        grammar.member(u32::from(slot(avp::SERVICE_INFORMATION))).unwrap().text,
        "Service-Information"
    );
    let money = lookup(avp::CC_MONEY).unwrap().grammar().unwrap();
    assert!(!money.is_open && money.required == 1);
    assert_eq!(answer_message().required.count_ones(), 3);
    for rule in commands().iter().filter(|rule| rule.is_request) {
        assert!(command_rule(rule.code, false).is_some(), "{} has an answer", rule.text);
    }
}

#[test]
fn an_avp_is_called_as_the_standard_calls_it() {
    assert_eq!(avp::MULTIPLE_SERVICES_CREDIT_CONTROL.to_string(), "Multiple-Services-Credit-Control");
    assert_eq!(AvpName { code: 7, vendor: 99 }.to_string(), "99:7");
}
