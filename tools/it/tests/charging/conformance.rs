//! Header, AVPs and errors: what each request that is not as it should be is answered with, exactly.

use super::{ANN, Ocs};
use diameter::avp::{AvpFlags, AvpName};
use diameter::dictionary::{application, avp};
use diameter::header::CommandFlags;
use it::credit::{CreditClient, Draft, SERVER_HOST, avp_octets, bare_cer, requested, subscriber};

/// A vendor of whom nobody knows.
const STRANGER: u32 = 99_999;
const UNKNOWN: AvpName = AvpName { code: 77, vendor: STRANGER };

/// What an answer's Failed-AVP holds.
#[derive(Debug)]
enum Failed {
    /// There is none.
    Nothing,
    /// One AVP, within these groups, with these data.
    One(Vec<AvpName>, Vec<u8>),
    /// Two AVPs.
    Two(AvpName, AvpName),
}

/// A request and what it is answered with.
struct Case {
    name: String,
    request: Vec<u8>,
    code: u32,
    /// The answer is an answer-message, with the E bit.
    is_error: bool,
    failed: Failed,
}

/// Cases are written down one behind another.
struct Cases {
    client: CreditClient,
    all: Vec<Case>,
}

impl Cases {
    /// An event that would succeed.
    fn event(&mut self) -> Draft {
        self.client.debit(ANN, 1)
    }

    fn add(&mut self, name: &str, request: Draft, code: u32, is_error: bool, failed: Failed) {
        self.all.push(Case { name: name.to_owned(), request: request.octets(), code, is_error, failed });
    }

    /// A request that succeeds.
    fn good(&mut self, name: &str, change: impl FnOnce(Draft) -> Draft) {
        let request = change(self.event());
        self.add(name, request, 2001, false, Failed::Nothing);
    }

    /// A request that is refused for one AVP.
    fn one(
        &mut self,
        name: &str,
        code: u32,
        path: &[AvpName],
        data: &[u8],
        change: impl FnOnce(Draft) -> Draft,
    ) {
        let request = change(self.event());
        // A protocol error is an answer-message (RFC 6733, section 7.2).
        let is_error = (3_000..4_000).contains(&code);
        self.add(name, request, code, is_error, Failed::One(path.to_vec(), data.to_vec()));
    }

    /// A request that is refused as a whole.
    fn whole(&mut self, name: &str, code: u32, change: impl FnOnce(Draft) -> Draft) {
        let request = change(self.event());
        self.add(name, request, code, (3_000..4_000).contains(&code), Failed::Nothing);
    }

    /// Sends them all on one connection, which is kept.
    fn run(mut self) {
        for case in &self.all {
            println!("{}", case.name);
            self.client.send(&case.request);
            let answer = self.client.answer();
            answer.assert_answers(&case.request);
            let name = &case.name;
            assert_eq!(
                (answer.code(), answer.message().header.flags.is_error()),
                (case.code, case.is_error),
                "{name}"
            );
            let failed = answer.failed();
            match &case.failed {
                Failed::Nothing => assert_eq!(failed, [], "{name}"),
                Failed::Two(first, second) => {
                    let names: Vec<AvpName> = failed.iter().map(|avp| avp.name).collect();
                    assert_eq!(names, [*first, *second], "{name}");
                }
                Failed::One(path, data) => {
                    let mut members = failed;
                    let mut found = None;
                    for step in path {
                        assert_eq!(members.len(), 1, "{name}: {members:?}");
                        assert_eq!(members[0].name, *step, "{name}");
                        found = Some(members[0]);
                        members = members[0].group().map_while(Result::ok).collect();
                    }
                    assert_eq!(found.unwrap().data, data, "{name}");
                }
            }
            self.echoed(case, &answer);
            self.client.works(ANN);
        }
    }

    /// Session-Id and Proxy-Info are repeated wherever they can be read.
    fn echoed(&self, case: &Case, answer: &it::credit::ReceivedMessage) {
        let Ok(request) = diameter::message::Message::read(&case.request) else { return };
        let session = request.find(avp::SESSION_ID).filter(|session| session.utf8().is_ok());
        if let Some(session) = session {
            let first = answer.message().avps().next().unwrap().unwrap();
            assert_eq!((first.name, first.data), (session.name, session.data), "{}", case.name);
        }
        let proxies = request.avps().map_while(Result::ok).filter(|avp| avp.name == avp::PROXY_INFO);
        // One that lacks its members is no use to a proxy.
        let proxies: Vec<&[u8]> = proxies.filter(|avp| avp.data.len() > 24).map(|avp| avp.octets).collect();
        let repeated: Vec<&[u8]> = answer.all(avp::PROXY_INFO).iter().map(|avp| avp.octets).collect();
        assert_eq!(repeated, proxies, "{}", case.name);
    }
}

async fn cases(fill: impl FnOnce(&mut Cases)) {
    let ocs = Ocs::start("", "").await;
    ocs.fund(ANN, 1_000_000).await;
    let mut cases = Cases { client: ocs.client("cases.client.test"), all: Vec::new() };
    fill(&mut cases);
    cases.run();
}

fn unknown(draft: Draft, flags: AvpFlags) -> Draft {
    draft.with(|writer| writer.raw(UNKNOWN, flags, b"abcde"))
}

fn proxy(draft: Draft, host: &str, state: &[u8]) -> Draft {
    draft.with(|writer| {
        writer.group(avp::PROXY_INFO, |info| {
            info.identity(avp::PROXY_HOST, host);
            info.octet_string(avp::PROXY_STATE, state);
        });
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_header_that_can_be_answered_is_and_the_link_is_kept() {
    cases(|cases| {
        for (name, flags) in
            [("without P", 0x80), ("with P", 0xC0), ("with T", 0xD0), ("reserved bits", 0xCF)]
        {
            cases.good(name, |mut draft| {
                draft.header.flags = CommandFlags(flags);
                draft
            });
        }
        for identifier in [0, 1, 0x8000_0000, u32::MAX] {
            cases.good(&format!("identifiers {identifier:#x}"), |mut draft| {
                draft.header.hop_by_hop = identifier;
                draft.header.end_to_end = !identifier;
                draft
            });
        }
        cases.whole("R with E", 3008, |draft| draft.flagged(CommandFlags::ERROR));
        cases.whole("a command that is none", 3001, |mut draft| {
            draft.header.command = 0xFF_FFFE;
            draft
        });
        cases.whole("accounting, which is not done here", 3007, |mut draft| {
            draft.header.application = 3;
            draft
        });
        cases.whole("an application that nobody knows", 3007, |mut draft| {
            draft.header.application = 0x0100_0000;
            draft
        });
        let mut event = cases.event().octets();
        event[0] = 2;
        let name = "version 2".to_owned();
        cases.all.push(Case { name, request: event, code: 5011, is_error: true, failed: Failed::Nothing });
        let again = bare_cer("cases.client.test");
        let again = again.with(|writer| writer.u32(avp::AUTH_APPLICATION_ID, application::CREDIT_CONTROL));
        cases.add("capabilities, a second time", again, 5012, true, Failed::Nothing);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_avps_are_refused_with_m_and_passed_over_without() {
    let m = AvpFlags::MANDATORY;
    cases(|cases| {
        cases.one("unknown with M", 5001, &[UNKNOWN], b"abcde", |draft| unknown(draft, m));
        cases.good("unknown without M", |draft| unknown(draft, AvpFlags::NONE));
        cases.good("unknown of the IETF without M, all other bits", |draft| {
            draft.with(|writer| writer.raw(AvpName::ietf(77_777), AvpFlags(0x3F), &[0xFF; 40]))
        });
        let inner = [avp::SERVICE_INFORMATION, avp::SMS_INFORMATION, UNKNOWN];
        cases.one("unknown with M in groups", 5001, &inner, b"x", |draft| {
            draft.with(|writer| {
                writer.group(avp::SERVICE_INFORMATION, |service| {
                    service.group(avp::SMS_INFORMATION, |sms| sms.raw(UNKNOWN, m, b"x"));
                });
            })
        });
        // Session-Id's code under another vendor is no Session-Id.
        let other = AvpName { code: 263, vendor: STRANGER };
        cases.good("a known code of another vendor without M", |draft| {
            draft.with(|writer| writer.raw(other, AvpFlags::NONE, &[0xFF]))
        });
        cases.one("a known code of another vendor with M", 5001, &[other], &[0xFF], |draft| {
            draft.with(|writer| writer.raw(other, m, &[0xFF]))
        });
        let plain = AvpName::ietf(873);
        cases.one("3GPP's Service-Information without its vendor", 5001, &[plain], b"", |draft| {
            draft.with(|writer| writer.raw(plain, m, b""))
        });
        cases.good("Proxy-Info, Route-Record and Class", |draft| {
            let draft = proxy(proxy(draft, "p1.test", b"1"), "p2.test", b"state of two");
            draft.with(|writer| {
                writer.identity(avp::ROUTE_RECORD, "p1.test");
                writer.identity(avp::ROUTE_RECORD, "p2.test");
                writer.octet_string(avp::CLASS, b"c");
            })
        });
        cases.one("Proxy-Info is repeated in errors", 5001, &[UNKNOWN], b"abcde", |draft| {
            unknown(proxy(proxy(draft, "p1.test", b"one of them"), "p2.test", b"and another"), m)
        });
        cases.whole("Proxy-Info is repeated in protocol errors", 3001, |draft| {
            let mut draft = proxy(draft, "p1.test", b"one of them");
            draft.header.command = 0xFF_FFFE;
            draft
        });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_that_cannot_be_are_refused_and_shown() {
    cases(|cases| {
        let octets = |name: AvpName, data: &'static [u8]| {
            move |draft: Draft| draft.with(|writer| writer.octet_string(name, data))
        };
        let two = avp::MULTIPLE_SERVICES_INDICATOR;
        cases.one(
            "an Enumerated above its last value",
            5004,
            &[two],
            &[0, 0, 0, 2],
            octets(two, &[0, 0, 0, 2]),
        );
        cases.one("an Enumerated below its first", 5004, &[two], &[0xFF; 4], octets(two, &[0xFF; 4]));
        cases.one(
            "text that is not UTF-8",
            5004,
            &[avp::USER_NAME],
            &[0xFF, 0xFE],
            octets(avp::USER_NAME, &[0xFF, 0xFE]),
        );
        let host = avp::ROUTE_RECORD;
        cases.one("an identity with a space", 5004, &[host], b"a b", octets(host, b"a b"));
        cases.one("an identity of nothing", 5004, &[host], b"", octets(host, b""));
        cases.one("an action that is none", 5004, &[avp::REQUESTED_ACTION], &[0, 0, 0, 9], |draft| {
            draft.replacing(avp::REQUESTED_ACTION, &[0, 0, 0, 9])
        });
        let path = [avp::SUBSCRIPTION_ID, avp::SUBSCRIPTION_ID_TYPE];
        cases.one("a kind of subscriber that is none", 5004, &path, &[0, 0, 0, 9], |draft| {
            draft.without(avp::SUBSCRIPTION_ID).with(|writer| {
                writer.group(avp::SUBSCRIPTION_ID, |id| {
                    id.u32(avp::SUBSCRIPTION_ID_TYPE, 9);
                    id.utf8(avp::SUBSCRIPTION_ID_DATA, ANN);
                });
            })
        });
        // Without its CC-Request-Type the answer cannot be a CCA.
        let request = cases.event().replacing(avp::CC_REQUEST_TYPE, &[0, 0, 0, 5]);
        let failed = Failed::One(vec![avp::CC_REQUEST_TYPE], vec![0, 0, 0, 5]);
        cases.add("a type of request that is none", request, 5004, true, failed);
        let request = cases.event().replacing(avp::AUTH_APPLICATION_ID, &[0, 0, 0, 3]);
        let failed = Failed::One(vec![avp::AUTH_APPLICATION_ID], vec![0, 0, 0, 3]);
        cases.add("an application other than the header's", request, 5004, true, failed);
        cases.good("padding that is not zeros", |draft| {
            draft.with_octets(&[0, 0, 0, 1, 0x40, 0, 0, 9, b'x', 1, 2, 3])
        });
        cases.good("padding that is not zeros at the end of a group", |draft| {
            draft.with_octets(&[0, 0, 1, 187, 0x40, 0, 0, 32]).with_octets(&[
                0, 0, 1, 194, 0x40, 0, 0, 12, 0, 0, 0, 1, 0, 0, 1, 188, 0x40, 0, 0, 9, b'1', 0xFF, 0xFF, 0xFF,
            ])
        });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_is_shown_in_zeros() {
    cases(|cases| {
        for (name, zeros) in [
            (avp::SESSION_ID, 0),
            (avp::ORIGIN_HOST, 1),
            (avp::ORIGIN_REALM, 1),
            (avp::DESTINATION_REALM, 1),
            (avp::AUTH_APPLICATION_ID, 4),
            (avp::SERVICE_CONTEXT_ID, 0),
            (avp::CC_REQUEST_TYPE, 4),
            (avp::CC_REQUEST_NUMBER, 4),
            (avp::SUBSCRIPTION_ID, 0),
            (avp::REQUESTED_ACTION, 4),
        ] {
            let request = cases.event().without(name);
            // Where a CCA's own grammar cannot be met, the answer is an answer-message.
            let needed =
                [avp::SESSION_ID, avp::CC_REQUEST_TYPE, avp::CC_REQUEST_NUMBER, avp::AUTH_APPLICATION_ID];
            let failed = Failed::One(vec![name], vec![0; zeros]);
            cases.add(&format!("no {name}"), request, 5005, needed.contains(&name), failed);
        }
        let path = [avp::SUBSCRIPTION_ID, avp::SUBSCRIPTION_ID_DATA];
        cases.one("no data in Subscription-Id", 5005, &path, b"", |draft| {
            draft.without(avp::SUBSCRIPTION_ID).with(|writer| {
                writer.group(avp::SUBSCRIPTION_ID, |id| id.u32(avp::SUBSCRIPTION_ID_TYPE, 0));
            })
        });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_contradicts_or_must_not_be_or_is_too_many_is_refused_and_shown() {
    cases(|cases| {
        let request = cases.event().with(|writer| {
            writer.u32(avp::MULTIPLE_SERVICES_INDICATOR, 0);
            for rating_group in [1, 2] {
                writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |service| {
                    service.u32(avp::RATING_GROUP, rating_group);
                    requested(service, 1);
                });
            }
        });
        let both = Failed::Two(avp::MULTIPLE_SERVICES_INDICATOR, avp::MULTIPLE_SERVICES_CREDIT_CONTROL);
        cases.add("several services by who cannot have them", request, 5007, false, both);
        cases.one("Result-Code in a request", 5008, &[avp::RESULT_CODE], &[0, 0, 7, 209], |draft| {
            draft.with(|writer| writer.u32(avp::RESULT_CODE, 2001))
        });
        cases.one("granted units in a request", 5008, &[avp::GRANTED_SERVICE_UNIT], b"", |draft| {
            draft.with(|writer| writer.group(avp::GRANTED_SERVICE_UNIT, |_| {}))
        });
        cases.one(
            "User-Name in Subscription-Id",
            5008,
            &[avp::SUBSCRIPTION_ID, avp::USER_NAME],
            b"x",
            |draft| {
                draft.without(avp::SUBSCRIPTION_ID).with(|writer| {
                    writer.group(avp::SUBSCRIPTION_ID, |id| {
                        id.u32(avp::SUBSCRIPTION_ID_TYPE, 0);
                        id.utf8(avp::SUBSCRIPTION_ID_DATA, ANN);
                        id.utf8(avp::USER_NAME, "x");
                    });
                })
            },
        );
        cases.one("two numbers", 5009, &[avp::CC_REQUEST_NUMBER], &[0, 0, 0, 77], |draft| {
            draft.with(|writer| writer.u32(avp::CC_REQUEST_NUMBER, 77))
        });
        let path = [avp::MULTIPLE_SERVICES_CREDIT_CONTROL, avp::RATING_GROUP];
        cases.one("two rating groups of a service", 5009, &path, &[0, 0, 0, 2], |draft| {
            draft.with(|writer| {
                writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |service| {
                    service.u32(avp::RATING_GROUP, 1);
                    service.u32(avp::RATING_GROUP, 2);
                });
            })
        });
        cases.whole("more AVPs than the limit", 5012, |draft| {
            draft.with(|writer| (0..4_100).for_each(|_| writer.identity(avp::ROUTE_RECORD, "a.test")))
        });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_lengths_are_shown_by_header_and_zeros_and_wrong_flags_refused() {
    let m = AvpFlags::MANDATORY;
    cases(|cases| {
        let state = avp::ORIGIN_STATE_ID;
        for (name, avp, length, data, zeros) in [
            ("a number of three octets", state, 11, 3, 4),
            ("a number of five octets", state, 13, 5, 4),
            ("64 bits in four octets", avp::CC_SUB_SESSION_ID, 12, 4, 8),
            ("a length of nought", state, 0, 4, 4),
            ("a length below the header's", state, 7, 4, 4),
            ("a length past the end", state, 16, 4, 4),
            ("a length far past the end", state, 0xFF_FFFF, 4, 4),
            ("a group past the end", avp::USED_SERVICE_UNIT, 16, 4, 0),
            ("an address of one octet", avp::HOST_IP_ADDRESS, 9, 1, 2),
        ] {
            cases.one(name, 5014, &[avp], &[0; 8][..zeros], |draft| {
                draft.with_octets(&avp_octets(avp, m, length, &[7; 8][..data]))
            });
        }
        cases.one("a header that is cut off", 5014, &[state], &[0; 4], |draft| {
            draft.with_octets(&[0, 0, 1, 22])
        });
        let path = [avp::REQUESTED_SERVICE_UNIT, avp::CC_TIME];
        cases.one("a number of three octets in a group", 5014, &path, &[0; 4], |draft| {
            draft.without(avp::REQUESTED_SERVICE_UNIT).with(|writer| {
                writer.group(avp::REQUESTED_SERVICE_UNIT, |unit| unit.raw(avp::CC_TIME, m, &[1, 2, 3]));
            })
        });

        cases.one("M is missing", 3009, &[avp::USER_NAME], b"x", |draft| {
            draft.with(|writer| writer.raw(avp::USER_NAME, AvpFlags::NONE, b"x"))
        });
        cases.one("M must not be", 5016, &[avp::ERROR_REPORTING_HOST], b"x", |draft| {
            draft.with(|writer| writer.raw(avp::ERROR_REPORTING_HOST, m, b"x"))
        });
        for flags in [0x60, 0x5F, 0x7F] {
            cases.good(&format!("reserved bits and P, {flags:#x}"), |draft| {
                draft.with(|writer| writer.raw(avp::USER_NAME, AvpFlags(flags), b"x"))
            });
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_for_us_is_sent_back_with_the_reason() {
    cases(|cases| {
        cases.whole("another host", 3002, |draft| {
            draft.with(|writer| writer.identity(avp::DESTINATION_HOST, "other.test"))
        });
        cases.whole("another realm", 3003, |draft| draft.replacing(avp::DESTINATION_REALM, b"other.test"));
        cases.whole("it came by here before", 3005, |draft| {
            draft.with(|writer| {
                writer.identity(avp::ROUTE_RECORD, "p.test");
                writer.identity(avp::ROUTE_RECORD, SERVER_HOST);
            })
        });
        let shouted = SERVER_HOST.to_ascii_uppercase();
        cases.good("our own host, in other letters", |draft| {
            draft.with(|writer| writer.identity(avp::DESTINATION_HOST, &shouted))
        });
        let session = cases.client.fresh_session();
        for (name, kind) in [("an update of no session", 2), ("a termination of no session", 3)] {
            let known = cases.client.credit(&session, kind, 1).with(|writer| subscriber(writer, ANN));
            cases.add(name, known, 5002, false, Failed::Nothing);
            let nobody = cases.client.credit(&session, kind, 1);
            cases.add(&format!("{name}, of nobody"), nobody, 5002, false, Failed::Nothing);
        }
    })
    .await;
}
