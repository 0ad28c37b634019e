//! Adapters of sessions of the line protocol: the topic door has them, routes write into them.

use doors::topic::{EngineLogins, PeopleDeps, SessionRegister, SessionWriter, WriteResult};
use engine::{Clock, Engine};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gateway::line::{LineScreen, LineSessions, ShowResult};
use records::LineBlock;
use std::any::Any;
use std::sync::Arc;

/// What a made-up device is made of, so that the key serves no other purpose.
const MASK: &[u8] = b"campanile: devices of login ids that nobody has";

/// What the topic door needs for people.
pub(crate) fn people(
    engine: &Engine,
    lines: &Arc<LineSessions>,
    clock: Clock,
    key: &store::AuditKey,
) -> PeopleDeps {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key.0);
    let mut mask_key = [0; 32];
    mask_key.copy_from_slice(ring::hmac::sign(&key, MASK).as_ref());
    PeopleDeps {
        desk: Arc::new(EngineLogins::of(engine)),
        register: Arc::new(RegisterOf(Arc::clone(lines))),
        clock,
        mask_key,
    }
}

/// The gateway's registry, for the door.
struct RegisterOf(Arc<LineSessions>);

impl SessionRegister for RegisterOf {
    fn open(&self, id: &str, writer: SessionWriter) -> Option<Box<dyn Any + Send + Sync>> {
        let entry = self.0.open(id, Arc::new(ScreenOf(writer)))?;
        Some(Box::new(entry))
    }
}

/// The door's session, for routes.
struct ScreenOf(SessionWriter);

impl LineScreen for ScreenOf {
    fn show(&self, block: Arc<LineBlock>) -> BoxFuture<'static, ShowResult> {
        let written = self.0.write(block);
        written
            .map(|result| match result {
                WriteResult::Taken => ShowResult::Taken,
                WriteResult::Ended => ShowResult::Ended,
                WriteResult::Full => ShowResult::Full,
            })
            .boxed()
    }
}
