use super::audio::*;
use super::*;
use crate::limits::SDP_MEDIA_MAX;
use proptest::prelude::*;

fn local(codecs: &[AudioCodec]) -> LocalAudio {
    LocalAudio {
        address: "192.0.2.1:4000".parse().unwrap(),
        codecs: codecs.to_vec(),
        telephone_events: true,
        srtp_key: None,
        direction: MediaDirection::SendRecv,
        session_id: 7,
        version: 1,
    }
}

fn key(octet: u8) -> SrtpKey {
    SrtpKey { tag: 1, suite: SrtpSuite::AesCm128HmacSha1With80, key_and_salt: [octet; 30] }
}

fn parse(text: &str) -> SessionDescription {
    SessionDescription::parse(text.as_bytes()).unwrap()
}

#[test]
fn an_offer_is_written_as_rfc_8866_has_it() {
    let offer = local(&[AudioCodec::Pcma, AudioCodec::Pcmu]).offer().to_string();
    assert_eq!(
        offer,
        "v=0\r\no=- 7 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n\
         m=audio 4000 RTP/AVP 8 0 101\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:0 PCMU/8000\r\n\
         a=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\na=sendrecv\r\n"
    );
    assert_eq!(parse(&offer).to_string(), offer);
}

#[test]
fn the_peers_order_decides_and_other_media_are_refused() {
    let offer = parse(
        "v=0\no=x 1 1 IN IP4 198.51.100.1\ns=\nc=IN IP4 198.51.100.1\nt=0 0\nm=video 9 RTP/AVP 99\n\
         m=audio 5000/2 RTP/AVP 18 0 96 8\na=rtpmap:96 Telephone-Event/8000\na=ptime:30\n\
         m=image 5002 udptl t38\na=T38FaxVersion:0\n",
    );
    let (answer, agreed) = local(&[AudioCodec::Pcma, AudioCodec::Pcmu]).answer(&offer).unwrap();
    assert_eq!((agreed.codec, agreed.payload_type, agreed.telephone_event), (AudioCodec::Pcmu, 0, Some(96)));
    assert_eq!(agreed.remote(), Some("198.51.100.1:5000".parse().unwrap()));
    assert_eq!((agreed.packet_time_ms, agreed.medium), (30, 1));
    let media: Vec<_> = answer.media.iter().map(|medium| (medium.kind.as_str(), medium.port)).collect();
    assert_eq!(media, [("video", 0), ("audio", 4_000), ("image", 0)]);
    assert_eq!(answer.media[1].formats, ["0", "96"]);
    assert_eq!(answer.media[2].protocol, MediaProtocol::Udptl);
}

#[test]
fn both_sides_of_an_offer_agree_on_the_same() {
    for own_key in [None, Some(key(1))] {
        let offerer = LocalAudio { srtp_key: own_key.clone(), ..local(&[AudioCodec::Pcma]) };
        let answerer = LocalAudio {
            address: "[2001:db8::2]:6000".parse().unwrap(),
            srtp_key: Some(key(2)),
            ..local(&[AudioCodec::Pcmu, AudioCodec::Pcma])
        };
        let (answer, theirs) = answerer.answer(&parse(&offerer.offer().to_string())).unwrap();
        let ours = offerer.agreed(&parse(&answer.to_string())).unwrap();
        assert_eq!((ours.codec, ours.telephone_event), (theirs.codec, theirs.telephone_event));
        assert_eq!(ours.remote(), Some(answerer.address));
        let secrets = |(own, peer): (SrtpKey, SrtpKey)| (own.key_and_salt[0], peer.key_and_salt[0]);
        assert_eq!(ours.srtp.map(secrets), own_key.as_ref().map(|_| (1, 2)));
        assert_eq!(theirs.srtp.map(secrets), own_key.map(|_| (2, 1)));
    }
}

#[test]
fn obstacles_are_named() {
    let sdp = |rest: &str| parse(&format!("v=0\no=- 1 1 IN IP4 192.0.2.9\ns=-\nt=0 0\n{rest}"));
    let cases = [
        ("", AudioDisagreement::NoAudio),
        ("c=IN IP4 192.0.2.9\nm=audio 0 RTP/AVP 0\n", AudioDisagreement::NoAudio),
        ("c=IN IP4 192.0.2.9\nm=audio 5 RTP/AVP 18 3\n", AudioDisagreement::NoCodec),
        ("m=audio 5 RTP/AVP 0\n", AudioDisagreement::NoAddress),
        ("c=IN IP4 192.0.2.9\nm=audio 5 RTP/SAVP 0\n", AudioDisagreement::NoKey),
        ("c=IN IP4 192.0.2.9\nm=audio 5 RTP/AVP 0\na=rtpmap:0 PCMU/16000\n", AudioDisagreement::NoCodec),
    ];
    for (rest, problem) in cases {
        assert_eq!(local(&[AudioCodec::Pcmu]).answer(&sdp(rest)).map(|_| ()), Err(problem), "{rest}");
    }
    let secure = LocalAudio { srtp_key: Some(key(1)), ..local(&[AudioCodec::Pcmu]) };
    let plain = sdp("c=IN IP4 192.0.2.9\nm=audio 5 RTP/AVP 0\n");
    assert_eq!(secure.agreed(&plain), Err(AudioDisagreement::NoKey));
}

#[test]
fn directions_are_answered_as_rfc_3264_has_them() {
    use MediaDirection::*;
    let rows = [
        (SendRecv, SendRecv, SendRecv),
        (SendOnly, SendRecv, RecvOnly),
        (RecvOnly, SendRecv, SendOnly),
        (Inactive, SendRecv, Inactive),
        (SendRecv, RecvOnly, RecvOnly),
        (SendOnly, SendOnly, Inactive),
    ];
    for (offered, wanted, answer) in rows {
        assert_eq!(offered.answered(wanted), answer, "{offered:?} {wanted:?}");
    }
    let held = parse("v=0\no=- 1 1 IN IP4 192.0.2.9\ns=-\nc=IN IP4 0.0.0.0\nt=0 0\nm=audio 5 RTP/AVP 0\n");
    let (_, agreed) = local(&[AudioCodec::Pcmu]).answer(&held).unwrap();
    assert_eq!(agreed.direction, RecvOnly);
    let held = parse("v=0\no=- 1 1 IN IP4 1.2.3.4\ns=-\nc=IN IP4 1.2.3.4\na=sendonly\nm=audio 5 RTP/AVP 0\n");
    assert_eq!(held.direction_of(&held.media[0]), SendOnly);
}

#[test]
fn keys_of_srtp_are_read_with_what_trunks_write_behind_them() {
    let text = "1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";
    let read = SrtpKey::parse(&format!("{text}|2^20 WSH=64")).unwrap();
    assert_eq!(read.to_string(), text);
    assert_eq!(&read.key_and_salt[..8], b"YS___sem");
    assert!(!format!("{read:?}").contains("WVN"));
    for bad in [
        format!("{text}|2^20|1:4"),
        format!("{text} UNENCRYPTED_SRTP"),
        text.replace("CM_128", "CM_192"),
        text.replace("bGVz", ""),
        text.replace("1 AES", "x AES"),
        text.replace("WVN", "W*N"),
        String::new(),
    ] {
        assert_eq!(SrtpKey::parse(&bad), None, "{bad}");
    }
}

#[test]
fn descriptions_without_their_form_or_over_a_limit_are_refused() {
    let head = "v=0\no=- 1 1 IN IP4 192.0.2.9\ns=-\nt=0 0\n";
    for bad in [
        "",
        "v=1\no=- 1 1 IN IP4 1.2.3.4\n",
        "v=0\n",
        "v=0\no=- x 1 IN IP4 1.2.3.4\n",
        "v=0\no=- 1 IN IP4\n",
        "nonsense",
    ] {
        assert!(SessionDescription::parse(bad.as_bytes()).is_err(), "{bad}");
    }
    for line in ["c=IN IP4", "m=audio", "m=audio x RTP/AVP 0", "m=audio 70000 RTP/AVP 0", "c=IN IP4 a b:c"] {
        let is_refused = SessionDescription::parse(format!("{head}{line}\n").as_bytes()).is_err();
        assert!(is_refused || line.ends_with("b:c"), "{line}");
    }
    let media = "m=audio 5 RTP/AVP 0\n".repeat(SDP_MEDIA_MAX + 1);
    let error = SessionDescription::parse(format!("{head}{media}").as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "session description: media: more than 32 allowed");
    assert!(SdpAttribute::new("a b", None).is_err() && SdpAttribute::new("a", Some("x\r\ny")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(200)))]

    #[test]
    fn written_descriptions_are_read_back(
        ids in any::<(u64, u64)>(), user in "[a-z]{1,9}", name in "[a-zA-Z ]{0,8}[a-z]", ports in prop::collection::vec(any::<u16>(), 0..4),
        attributes in prop::collection::vec(("[a-zA-Z0-9-]{1,8}", prop::option::of("[!-~ ]{0,20}[!-~]")), 0..5),
    ) {
        let mut description = SessionDescription::new(ids.0, ids.1, "192.0.2.1".parse().unwrap());
        description.origin.username = user;
        description.name = name;
        let attributes: Vec<_> =
            attributes.iter().map(|(name, value)| SdpAttribute::new(name, value.as_deref()).unwrap()).collect();
        description.attributes = attributes.clone();
        description.media = ports.iter().map(|port| MediaDescription {
            kind: "image".to_owned(),
            port: *port,
            protocol: MediaProtocol::Udptl,
            formats: vec!["t38".to_owned()],
            connection: Some(crate::HostPort::new("2001:db8::1", None).unwrap()),
            attributes: attributes.clone(),
        }).collect();
        let text = description.to_string();
        prop_assert_eq!(SessionDescription::parse(text.as_bytes()).unwrap(), description);
    }

    #[test]
    fn any_octets_are_read_or_refused_and_what_is_read_is_written_alike(octets in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(description) = SessionDescription::parse(&octets) {
            let again = SessionDescription::parse(description.to_string().as_bytes()).unwrap();
            prop_assert_eq!(again.to_string(), description.to_string());
        }
    }
}
