use super::*;
use proptest::prelude::*;

fn block(lost: i32) -> ReportBlock {
    ReportBlock {
        ssrc: 9,
        fraction_lost: 3,
        lost,
        extended_highest: 70_000,
        jitter: 12,
        last_sender_report: 0x0102_0304,
        delay: 0x1_0000,
    }
}

fn report(cname: &str) -> RtcpReport<'_> {
    let sender = SenderInfo { ntp: NtpTimestamp(1 << 40 | 5), timestamp: 160, packets: 7, octets: 1_120 };
    RtcpReport { ssrc: 4, sender: Some(sender), block: Some(block(-2)), cname, is_bye: true }
}

fn packets(octets: &[u8]) -> Vec<RtcpPacket<'_>> {
    RtcpCompound::parse(octets).unwrap().packets().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_compound_of_report_name_and_bye_is_read_as_it_was_written() {
    let mut out = [0; RTCP_REPORT_OCTETS_MAX];
    let octets = report("a@b").write(&mut out).unwrap();
    let packets = packets(&out[..octets]);
    let [
        RtcpPacket::SenderReport { ssrc: 4, sender, blocks },
        RtcpPacket::Description { ssrc: 4, cname },
        RtcpPacket::Bye { sources, reason: b"" },
    ] = packets[..]
    else {
        panic!("{packets:?}")
    };
    assert_eq!((sender.packets, sender.octets, sender.ntp), (7, 1_120, NtpTimestamp(1 << 40 | 5)));
    assert_eq!(blocks.iter().collect::<Vec<_>>(), [block(-2)]);
    assert_eq!((cname, sources), (Some(&b"a@b"[..]), &[0, 0, 0, 4][..]));
}

#[test]
fn without_sound_or_a_peer_the_report_is_an_empty_receiver_report() {
    let mut out = [0; 64];
    let report = RtcpReport { sender: None, block: None, is_bye: false, ..report("x") };
    let octets = report.write(&mut out).unwrap();
    assert_eq!(out[..8], [0x80, 201, 0, 1, 0, 0, 0, 4]);
    assert_eq!(out[8..octets], [0x81, 202, 0, 2, 0, 0, 0, 4, 1, 1, b'x', 0]);
}

#[test]
fn the_longest_name_fits_the_named_buffer_and_no_smaller_one_is_overrun() {
    let name = "n".repeat(RTCP_TEXT_OCTETS_MAX);
    let mut out = [0; RTCP_REPORT_OCTETS_MAX];
    let octets = report(&name).write(&mut out).unwrap();
    assert_eq!(report(&name).write(&mut out[..octets - 1]), Err(RtcpError::BufferTooSmall));
    assert_eq!(report("").write(&mut out), Err(RtcpError::Cname(0)));
    assert_eq!(report(&"n".repeat(256)).write(&mut out), Err(RtcpError::Cname(256)));
}

#[test]
fn a_datagram_that_is_no_compound_is_refused_by_what_is_wrong() {
    let error = |octets: &[u8]| RtcpCompound::parse(octets).unwrap_err();
    assert_eq!(error(&[]), RtcpError::Short { field: "header" });
    assert_eq!(error(&[0x40, 201, 0, 1, 0, 0, 0, 4]), RtcpError::Version(1));
    assert_eq!(error(&[0x80, 201, 0, 2, 0, 0, 0, 4]), RtcpError::Short { field: "packet" });
    assert_eq!(error(&[0x81, 203, 0, 1, 0, 0, 0, 4]), RtcpError::NoReport(203));
    assert_eq!(error(&[0x80, 201, 0, 1, 0, 0, 0, 4, 0x80]), RtcpError::Short { field: "header" });
    let padded_first = [0xA0, 201, 0, 2, 0, 0, 0, 4, 0, 0, 0, 4, 0x80, 203, 0, 0];
    assert_eq!(error(&padded_first), RtcpError::Padding);
    assert_eq!(packets(&padded_first[..12]).len(), 1, "padding is allowed in the last packet");
    assert_eq!(error(&[0xA0, 201, 0, 1, 0, 0, 0, 3]), RtcpError::Padding);
    assert_eq!(error(&[0xA0, 201, 0, 1, 0, 0, 0, 8]), RtcpError::Short { field: "padding" });
}

#[test]
fn a_count_beyond_the_packet_ends_the_reading_by_name() {
    let octets = [0x82, 201, 0, 1, 0, 0, 0, 4, 0x80, 203, 0, 0];
    let packets: Vec<_> = RtcpCompound::parse(&octets).unwrap().packets().collect();
    assert_eq!(packets, [Err(RtcpError::Short { field: "report block" })]);
    let octets = [0x80, 201, 0, 1, 0, 0, 0, 4, 0x81, 202, 0, 2, 0, 0, 0, 4, 1, 3, b'x', 0];
    let packets: Vec<_> = RtcpCompound::parse(&octets).unwrap().packets().collect();
    assert_eq!(packets[1], Err(RtcpError::Short { field: "SDES item" }));
}

#[test]
fn packets_of_other_types_are_passed_over() {
    let octets = [0x80, 201, 0, 1, 0, 0, 0, 4, 0x80, 204, 0, 2, 0, 0, 0, 4, b'n', b'a', b'm', b'e'];
    assert!(matches!(packets(&octets)[1], RtcpPacket::Other { packet_type: 204 }));
}

#[test]
fn time_is_counted_from_1900_and_the_round_trip_leaves_the_peers_delay_out() {
    let ntp = NtpTimestamp::from_unix(Duration::from_millis(1_500));
    assert_eq!(ntp.0, (2_208_988_801 << 32) | 0x8000_0000);
    let sent = NtpTimestamp::from_unix(Duration::from_secs(100));
    let block = ReportBlock { last_sender_report: sent.middle(), delay: 0x1_8000, ..block(0) };
    let now = NtpTimestamp::from_unix(Duration::from_millis(101_750));
    assert_eq!(block.round_trip(now), Some(Duration::from_millis(250)));
    assert_eq!(block.round_trip(sent), None, "a delay longer than the time that has passed");
    assert_eq!(ReportBlock { last_sender_report: 0, ..block }.round_trip(now), None);
}

#[test]
fn reports_are_two_to_six_seconds_apart() {
    assert_eq!(rtcp_interval(0).as_millis(), 2_052);
    assert_eq!(rtcp_interval(u32::MAX).as_millis(), 6_156);
}

proptest! {
    #[test]
    fn any_report_is_read_as_it_was_written(
        (ssrc, other, lost) in (any::<u32>(), any::<u32>(), -0x80_0000..=0x7F_FFFF_i32),
        fraction_lost in any::<u8>(),
        (is_bye, has_block) in (any::<bool>(), any::<bool>()),
        cname in "[a-z]{1,255}",
    ) {
        let block = has_block.then_some(ReportBlock { ssrc: other, fraction_lost, ..block(lost) });
        let mut out = [0; RTCP_REPORT_OCTETS_MAX];
        let report = RtcpReport { ssrc, sender: None, block, cname: &cname, is_bye };
        let octets = report.write(&mut out).unwrap();
        let packets = packets(&out[..octets]);
        prop_assert_eq!(packets.len(), 2 + usize::from(is_bye));
        let RtcpPacket::ReceiverReport { ssrc: read, blocks } = packets[0] else { panic!() };
        prop_assert_eq!((read, blocks.iter().next()), (ssrc, block));
        prop_assert_eq!(packets[1], RtcpPacket::Description { ssrc, cname: Some(cname.as_bytes()) });
    }

    #[test]
    fn any_octets_are_read_or_refused(octets in proptest::collection::vec(any::<u8>(), 0..120)) {
        if let Ok(compound) = RtcpCompound::parse(&octets) {
            prop_assert!(compound.packets().count() <= octets.len() / 4);
        }
    }
}
