//! Any octets as each of the things that a push reads from the wire: what is read is within its bounds, and
//! is written as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../src/push/layout.rs"]
mod layout;
#[allow(dead_code)]
#[path = "../../src/push/manifest.rs"]
mod manifest;
#[allow(dead_code)]
#[path = "../../src/push/message.rs"]
mod message;
#[allow(dead_code)]
#[path = "../../src/push/packet.rs"]
mod packet;
#[allow(dead_code)]
#[path = "../../src/push/proof.rs"]
mod proof;
#[allow(dead_code)]
#[path = "../../src/push/report.rs"]
mod report;

fn read_packet(octets: &[u8]) {
    let Some((header, symbol)) = packet::Header::read(octets) else { return };
    let mut again = [0; packet::HEADER_LEN];
    header.write(&mut again);
    assert_eq!([&again[..], symbol].concat(), octets);
}

fn read_report(octets: &[u8]) {
    let Some((&blocks, octets)) = octets.split_first() else { return };
    let blocks = u32::from(blocks) << 4;
    let Some(report) = report::Report::read(octets, blocks) else { return };
    assert_eq!(report.write(), octets);
    let mut next = 0;
    for run in &report.runs {
        assert!(run.first >= next && run.count > 0 && run.lacks > 0);
        next = run.first + run.count;
    }
    assert!(next <= report.upto && report.upto <= blocks && report.runs.len() <= report::Report::RUNS_MAX);
}

fn read_message(octets: &[u8]) {
    let Some(read) = message::Message::read(octets) else { return };
    if let message::Message::Offer(offer) = &read {
        assert!(offer.group.is_none_or(|group| group.ip().is_multicast()));
    }
    if let message::Message::End { words, .. } = &read {
        assert!(!words.contains(char::is_control));
        // Words that were no UTF-8 grow as they are read, and are cut again as they are written.
        assert!(message::Message::read(&read.write()).is_some());
    } else {
        assert_eq!(message::Message::read(&read.write()), Some(read));
    }
}

fn read_manifest(octets: &[u8]) {
    let _ = manifest::signed_by(&[7; 32], octets, &[7; 64]);
    let Ok(manifest) = manifest::Manifest::read(octets) else { return };
    assert_eq!(manifest.write(), octets);
    assert!(manifest.layout.size() <= layout::FILE_SIZE_MAX);
    assert_eq!(manifest.blocks.len(), manifest.layout.blocks() as usize);
    let folder = std::path::Path::new("folder");
    assert_eq!(folder.join(&manifest.name).parent(), Some(folder), "it stays where it is put");
    let octets: u64 = (0..manifest.layout.blocks()).map(|block| manifest.layout.block_len(block) as u64).sum();
    assert_eq!(octets, manifest.layout.size());
}

fuzz_target!(|octets: &[u8]| {
    let Some((&kind, octets)) = octets.split_first() else { return };
    match kind % 4 {
        0 => read_packet(octets),
        1 => read_report(octets),
        2 => read_message(octets),
        // The magic is there already, so that the fuzzer need not find it.
        _ => read_manifest(&[b"CPNLPSH1", octets].concat()),
    }
});
