use super::*;

fn invite(more: &str) -> String {
    format!(
        "INVITE sip:b@example.com SIP/2.0\r\nVia: SIP/2.0/UDP a;branch=z9hG4bK1\r\nFrom: A <sip:a@x>;tag=ours\r\n\
         To: <sip:b@example.com>\r\nCall-ID: c\r\nCSeq: 7 INVITE\r\n{more}\r\n"
    )
}

fn ok(more: &str) -> String {
    format!(
        "SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP a;branch=z9hG4bK1\r\nFrom: A <sip:a@x>;tag=ours\r\n\
         To: <sip:b@example.com>;tag=theirs\r\nCall-ID: c\r\nCSeq: 7 INVITE\r\n{more}\r\n"
    )
}

fn client(more: &str) -> Result<Dialog, SipParseError> {
    let (request, response) = (invite(""), ok(more));
    let request = SipMessage::parse(request.as_bytes()).unwrap();
    Dialog::of_client(&request, &SipMessage::parse(response.as_bytes()).unwrap())
}

fn server(more: &str) -> Result<Dialog, SipParseError> {
    let request = invite(more);
    Dialog::of_server(&SipMessage::parse(request.as_bytes()).unwrap(), "here")
}

#[test]
fn a_client_reverses_the_record_route_and_a_server_keeps_it() {
    let routes = "Record-Route: <sip:p1;lr>, \"P, 2\" <sip:p2;lr>\r\nRecord-Route: <sip:p3;lr>\r\nContact: <sip:b@h>\r\n";
    let dialog = client(routes).unwrap();
    assert_eq!(dialog.route().routes, ["<sip:p3;lr>", "\"P, 2\" <sip:p2;lr>", "<sip:p1;lr>"]);
    assert_eq!((dialog.route().uri.as_str(), dialog.route().first_hop.as_str()), ("sip:b@h", "sip:p3;lr"));
    assert_eq!(server(routes).unwrap().route().first_hop, "sip:p1;lr");
}

#[test]
fn a_strict_router_gets_its_own_uri_and_the_target_last() {
    let dialog = client("Record-Route: <sip:p1>, <sip:p2;method=INVITE>\r\nContact: <sip:b@h>\r\n").unwrap();
    let route = dialog.route();
    assert_eq!(
        (route.uri.as_str(), route.routes),
        ("sip:p2", vec!["<sip:p1>".to_owned(), "<sip:b@h>".to_owned()])
    );
}

#[test]
fn a_target_without_contact_is_the_request_uri_for_a_client_and_an_error_for_a_server() {
    assert_eq!(client("").unwrap().route().uri, "sip:b@example.com");
    assert_eq!(server(""), Err(SipParseError::Missing("Contact")));
    assert!(server("Contact: <tel:+1>\r\n").is_err());
    assert!(client("Contact: *\r\n").is_err());
}

#[test]
fn tags_and_numbers_are_those_of_each_side() {
    let mut dialog = client("").unwrap();
    assert_eq!((dialog.local_tag(), dialog.remote_tag(), dialog.call_id()), ("ours", "theirs", "c"));
    assert_eq!((dialog.local_cseq(), dialog.next_cseq(), dialog.next_cseq()), (7, 8, 9));
    assert!(dialog.take_remote_cseq(100) && !dialog.take_remote_cseq(100) && dialog.take_remote_cseq(101));
    let mut dialog = server("Contact: <sip:a@h>\r\n").unwrap();
    assert_eq!((dialog.local(), dialog.remote_tag()), ("<sip:b@example.com>;tag=here", "ours"));
    assert!(!dialog.take_remote_cseq(7) && dialog.take_remote_cseq(8));
    assert_eq!(dialog.next_cseq(), 1);
}

#[test]
fn a_new_contact_is_the_new_target_and_a_malformed_one_changes_nothing() {
    let mut dialog = client("Contact: <sip:b@h>\r\n").unwrap();
    for (contact, target) in [("<sip:b@new:5070>", "sip:b@new:5070"), ("<nonsense>", "sip:b@new:5070")] {
        let text = invite(&format!("Contact: {contact}\r\n"));
        dialog.refresh_target(&SipMessage::parse(text.as_bytes()).unwrap());
        assert_eq!(dialog.route().uri, target);
    }
}

#[test]
fn more_routes_than_allowed_are_refused() {
    let routes = "Record-Route: <sip:p;lr>\r\n".repeat(ROUTES_MAX + 1);
    assert!(matches!(client(&routes), Err(SipParseError::TooLong { .. })));
}
