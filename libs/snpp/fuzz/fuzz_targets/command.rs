//! Any line as a command: what is read is written as one line, and reads the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use snpp::command::{COMMAND_OCTETS_MAX, SnppCommand};

fuzz_target!(|bytes: &[u8]| {
    if bytes.len() >= COMMAND_OCTETS_MAX {
        return;
    }
    match SnppCommand::parse(bytes) {
        Ok(command) => {
            let mut out = Vec::new();
            command.write(&mut out).expect("what was read can be written");
            assert!(out.ends_with(b"\r\n") && out.iter().filter(|octet| **octet == b'\n').count() == 1);
            assert_eq!(SnppCommand::parse(&out[..out.len() - 2]), Ok(command));
        }
        Err(refused) => assert!(refused.0.starts_with('5')),
    }
});
