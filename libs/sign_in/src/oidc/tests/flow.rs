//! Discovery, the way to the provider and back, and the token request.

use super::*;

#[test]
fn a_discovery_document_is_read_and_its_address_follows_from_the_issuer() {
    let provider = read(&document()).unwrap();
    assert_eq!(provider.token_endpoint, "https://login.example.org/realm/token");
    assert_eq!(provider.methods, [ClientMethod::Post, ClientMethod::Basic]);
    assert!(provider.sends_issuer && provider.end_session_endpoint.is_some());
    let expected = "https://login.example.org/realm/.well-known/openid-configuration";
    assert_eq!(discovery::url(ISSUER), expected);
    assert_eq!(discovery::url(&format!("{ISSUER}/")), expected);
}

#[test]
fn a_discovery_document_with_a_wrong_member_is_refused_by_its_name() {
    for (member, value, error) in [
        ("issuer", json!("https://login.example.org/realm/"), OidcError::Issuer(format!("{ISSUER}/"))),
        ("issuer", json!("https://evil.test"), OidcError::Issuer("https://evil.test".to_owned())),
        ("issuer", json!(null), OidcError::Member("issuer")),
        (
            "authorization_endpoint",
            json!("http://login.example.org"),
            OidcError::Url("authorization_endpoint"),
        ),
        ("authorization_endpoint", json!("javascript:alert(1)//"), OidcError::Url("authorization_endpoint")),
        ("token_endpoint", json!(1), OidcError::Member("token_endpoint")),
        ("token_endpoint", json!("https://a@b"), OidcError::Url("token_endpoint")),
        ("jwks_uri", json!(null), OidcError::Member("jwks_uri")),
        ("jwks_uri", json!("file:///etc/passwd"), OidcError::Url("jwks_uri")),
        ("end_session_endpoint", json!("x"), OidcError::Url("end_session_endpoint")),
        ("code_challenge_methods_supported", json!(["plain"]), OidcError::Pkce),
        (
            "token_endpoint_auth_methods_supported",
            json!("none"),
            OidcError::Member("token_endpoint_auth_methods_supported"),
        ),
    ] {
        let mut document = document();
        document[member] = value;
        assert_eq!(read(&document), Err(error), "{member}");
    }
    let what = OidcError::Document("discovery document");
    let too_long = " ".repeat(DOCUMENT_OCTETS_MAX + 1);
    for text in ["", "[]", "{", &too_long] {
        assert_eq!(OidcProvider::read(ISSUER, text.as_bytes()), Err(what.clone()));
    }
}

#[test]
fn only_https_and_loopback_urls_are_allowed() {
    for url in
        ["https://a", "https://a:1/b?c=d", "http://127.0.0.1:8080/x", "http://[::1]:8/", "http://localhost"]
    {
        assert!(discovery::is_url(url), "{url}");
    }
    for url in [
        "",
        "https://",
        "https:///a",
        "http://a",
        "http://localhost.evil.test",
        "http://127.0.0.1@evil.test/",
        "https://a b",
        "https://a/#b",
        "https://a/\n",
        "https://\u{e5}",
        "//a",
        "ftp://127.0.0.1",
        "https://a\\@b",
    ] {
        assert!(!discovery::is_url(url), "{url}");
    }
    assert!(!discovery::is_url(&format!("https://a/{}", "b".repeat(URL_OCTETS_MAX))));
}

#[test]
fn the_code_challenge_is_that_of_rfc_7636_appendix_b() {
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    assert_eq!(code_challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

#[test]
fn the_authorization_request_has_every_parameter_escaped() {
    let provider = read(&document()).unwrap();
    let wish = AuthorizationWish {
        scopes: &["email", "openid", "profile"],
        login_hint: Some("anna&x=1@example.org"),
        max_age_s: Some(0),
        ui_locales: Some("sv en"),
    };
    let challenge = code_challenge(&attempt().verifier());
    assert_eq!(
        attempt().url(&provider, &client(), wish).unwrap(),
        format!(
            "https://login.example.org/realm/auth?kind=a&response_type=code&client_id=campanile\
             &redirect_uri=https%3A%2F%2Falerts.example.org%2Fauth%2Foidc%2Fcallback&scope=openid%20email%20profile\
             &state=AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE&nonce=AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI\
             &code_challenge={challenge}&code_challenge_method=S256&login_hint=anna%26x%3D1%40example.org&max_age=0\
             &ui_locales=sv%20en"
        )
    );
    let wrong = OidcClient { redirect_uri: "http://alerts.example.org/".to_owned(), ..client() };
    let refused = attempt().url(&provider, &wrong, AuthorizationWish::default());
    assert_eq!(refused, Err(OidcError::Url("redirect_uri")));
}

#[test]
fn an_attempt_is_kept_as_a_text_and_is_not_in_debug_texts() {
    let text = attempt().text();
    assert_eq!((text.len(), SignInAttempt::read(&text)), (128, Some(attempt())));
    for wrong in ["", &text[4..], &format!("{text}AAAA"), &format!("{}!", &text[1..])] {
        assert_eq!(SignInAttempt::read(wrong), None);
    }
    assert_eq!(format!("{:?}", attempt()), "SignInAttempt(..)");
    assert!(!format!("{:?}", client()).contains("s3cret"));
}

#[test]
fn a_callback_gives_its_code_or_is_refused_by_its_parameter() {
    let provider = read(&document()).unwrap();
    let state = attempt().state();
    let issuer = "iss=https%3A%2F%2Flogin.example.org%2Frealm";
    let refusal = |code: &str, description: &str| OidcError::Provider {
        code: code.to_owned(),
        description: description.to_owned(),
    };
    for (query, expected) in [
        (format!("code=a%2Fb&state={state}&{issuer}"), Ok("a/b".to_owned())),
        (format!("?session_state=x&{issuer}&code=ab&state={state}"), Ok("ab".to_owned())),
        (format!("code=ab&{issuer}"), Err(OidcError::Parameter("state"))),
        (format!("code=ab&state=&{issuer}"), Err(OidcError::State)),
        (format!("code=ab&state={}&{issuer}", attempt().nonce()), Err(OidcError::State)),
        (format!("code=ab&state={state}&state={state}&{issuer}"), Err(OidcError::Parameter("state"))),
        (format!("code=ab&code=cd&state={state}&{issuer}"), Err(OidcError::Parameter("code"))),
        (format!("code=ab&c%6fde=cd&state={state}&{issuer}"), Err(OidcError::Parameter("code"))),
        (format!("code=&state={state}&{issuer}"), Err(OidcError::Parameter("code"))),
        (format!("code=%0a&state={state}&{issuer}"), Err(OidcError::Parameter("code"))),
        (format!("code=%ff&state={state}&{issuer}"), Err(OidcError::Parameter("code"))),
        (format!("state={state}&{issuer}"), Err(OidcError::Parameter("code"))),
        (format!("code=ab&state={state}"), Err(OidcError::Parameter("iss"))),
        (
            format!("code=ab&state={state}&iss=https%3A%2F%2Fevil.test"),
            Err(OidcError::Issuer("https://evil.test".to_owned())),
        ),
        (
            format!("error=access_denied&error_description=Not+today%0d%0a&state={state}&{issuer}"),
            Err(refusal("access_denied", "Not today")),
        ),
        (format!("error=login_required&code=ab&state={state}&{issuer}"), Err(refusal("login_required", ""))),
        (format!("error=access_denied&{issuer}"), Err(OidcError::Parameter("state"))),
        (format!("code={}&state={state}&{issuer}", "a".repeat(4_097)), Err(OidcError::Parameter("code"))),
        ("a&".repeat(40), Err(OidcError::Parameter("query"))),
        ("a".repeat(9_000), Err(OidcError::Parameter("query"))),
        (String::new(), Err(OidcError::Parameter("state"))),
    ] {
        assert_eq!(callback::read(&query, &attempt(), &provider), expected, "{query}");
    }
    let mut document = document();
    document["authorization_response_iss_parameter_supported"] = json!(false);
    let provider = read(&document).unwrap();
    assert_eq!(callback::read(&format!("code=ab&state={state}"), &attempt(), &provider), Ok("ab".to_owned()));
    let other = format!("code=ab&state={state}&iss=https%3A%2F%2Fevil.test");
    assert!(matches!(callback::read(&other, &attempt(), &provider), Err(OidcError::Issuer(_))));
}

#[test]
fn the_token_request_authenticates_as_the_provider_allows() {
    let provider = read(&document()).unwrap();
    let verifier = attempt().verifier();
    let body = format!(
        "grant_type=authorization_code&code=a%2Fb&redirect_uri=https%3A%2F%2Falerts.example.org%2Fauth%2Foidc%2F\
         callback&code_verifier={verifier}"
    );
    let request = |client: &OidcClient| token::request(&provider, client, &attempt(), "a/b");
    let basic = request(&client()).unwrap();
    assert_eq!((basic.url, &basic.body), (provider.token_endpoint.clone(), &body));
    // campanile:s3cret%2F%20%2B
    assert_eq!(basic.authorization.as_deref(), Some("Basic Y2FtcGFuaWxlOnMzY3JldCUyRiUyMCUyQg=="));
    let post = request(&OidcClient { method: Some(ClientMethod::Post), ..client() }).unwrap();
    let expected = format!("{body}&client_id=campanile&client_secret=s3cret%2F%20%2B");
    assert_eq!((post.authorization, post.body), (None, expected));
    let public = request(&OidcClient { secret: None, ..client() }).unwrap();
    assert_eq!((public.authorization, public.body), (None, format!("{body}&client_id=campanile")));
    let without_secret = OidcClient { secret: None, method: Some(ClientMethod::Basic), ..client() };
    assert_eq!(request(&without_secret), Err(OidcError::ClientMethod));
}

#[test]
fn a_method_is_chosen_that_both_sides_have() {
    let method = |list: Value| {
        let mut document = document();
        document["token_endpoint_auth_methods_supported"] = list;
        read(&document).unwrap().method(&client())
    };
    assert_eq!(method(json!(["client_secret_post"])), Ok(ClientMethod::Post));
    assert_eq!(method(json!(["client_secret_post", "client_secret_basic"])), Ok(ClientMethod::Basic));
    assert_eq!(method(json!(["private_key_jwt", "none"])), Err(OidcError::ClientMethod));
    let mut document = document();
    document.as_object_mut().unwrap().remove("token_endpoint_auth_methods_supported");
    assert_eq!(read(&document).unwrap().method(&client()), Ok(ClientMethod::Basic));
}

#[test]
fn a_token_answer_is_read_or_refused_by_what_it_says() {
    let read = |answer: Value| token::read(answer.to_string().as_bytes()).map(|answer| answer.id_token);
    assert_eq!(
        read(json!({"token_type": "bearer", "id_token": "a.b.c", "access_token": "x"})),
        Ok("a.b.c".into())
    );
    assert_eq!(
        read(json!({"token_type": "DPoP", "id_token": "a.b.c"})),
        Err(OidcError::Member("token_type"))
    );
    assert_eq!(read(json!({"token_type": "Bearer"})), Err(OidcError::Member("id_token")));
    assert_eq!(
        read(json!({"error": "invalid_grant", "error_description": "Code\u{7} used"})),
        Err(OidcError::Provider { code: "invalid_grant".to_owned(), description: "Code used".to_owned() })
    );
    assert_eq!(read(json!([])), Err(OidcError::Document("token answer")));
}

proptest! {
    #[test]
    fn no_query_is_a_callback_without_the_state(query: String) {
        let provider = read(&document()).unwrap();
        prop_assert!(callback::read(&query, &attempt(), &provider).is_err());
    }

    #[test]
    fn every_code_that_can_be_printed_comes_through(code in "[ -~]{1,60}") {
        let provider = read(&document()).unwrap();
        let (state, code_escaped) = (attempt().state(), crate::text::percent_escape(&code));
        let issuer = crate::text::percent_escape(ISSUER);
        let query = format!("code={code_escaped}&state={state}&iss={issuer}");
        prop_assert_eq!(callback::read(&query, &attempt(), &provider), Ok(code));
    }
}
