//! Any line as a command, and any text as an address: what may be written reads the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smtp::path::Path;
use smtp::server::SmtpCommand;

fuzz_target!(|bytes: &[u8]| {
    match SmtpCommand::parse(bytes) {
        Ok(SmtpCommand::Mail { from: path, .. } | SmtpCommand::Rcpt { to: path }) => {
            assert!(!path.contains(|c: char| c.is_control() || c == '<' || c == '>'));
        }
        Ok(_) => {}
        Err(error) => assert!(error.0.starts_with('5')),
    }
    let Some(path) = std::str::from_utf8(bytes).ok().and_then(|text| Path::parse(text).ok()) else {
        return;
    };
    // A local part that looks like a source route is dropped by a reader: RFC 5321 appendix C.
    if !(path.as_str().starts_with('@') && path.as_str().contains(':')) {
        let line = format!("RCPT TO:<{}>", path.as_str());
        assert_eq!(SmtpCommand::parse(line.as_bytes()), Ok(SmtpCommand::Rcpt { to: path.as_str() }));
    }
});
