//! Login desk over the engine: devices of people, the message with the code, the audit trail.

use super::{LoginDesk, LoginProof};
use engine::{Engine, LoginDevice, Logins};
use futures_util::future::BoxFuture;
use std::net::IpAddr;
use std::sync::Arc;

/// See the module.
pub struct EngineLogins {
    logins: Arc<Logins>,
}

impl EngineLogins {
    /// Of this engine.
    pub fn of(engine: &Engine) -> EngineLogins {
        EngineLogins { logins: Arc::new(Logins::of(engine, channels::LINE)) }
    }
}

impl LoginDesk for EngineLogins {
    fn devices(&self, id: String) -> BoxFuture<'static, Result<Vec<LoginDevice>, String>> {
        let logins = Arc::clone(&self.logins);
        Box::pin(async move { logins.devices(&id).await.map_err(|error| error.to_string()) })
    }

    fn send_code(
        &self,
        device: LoginDevice,
        id: String,
        code: String,
    ) -> BoxFuture<'static, Result<(), String>> {
        let logins = Arc::clone(&self.logins);
        Box::pin(
            async move { logins.send_code(&device, &id, &code).await.map_err(|error| error.to_string()) },
        )
    }

    fn logged_in(&self, id: String, from: IpAddr, by: LoginProof) -> BoxFuture<'static, Result<(), String>> {
        let logins = Arc::clone(&self.logins);
        let by = match by {
            LoginProof::Code => "by code",
            LoginProof::Token => "by token",
        };
        Box::pin(async move { logins.logged_in(&id, from, by).await.map_err(|error| error.to_string()) })
    }
}
