//! Opening of a session: greeting, EHLO, STARTTLS, EHLO again, AUTH (RFC 5321 §3.1, RFC 3207, RFC 4954).

use super::outbox::Outbox;
use super::{ClientOptions, Failure, Timeouts, TlsMode};
use crate::extensions::Extensions;
use crate::reply::{Class, Reply};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::time::Duration;

/// The awaited reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// The server speaks first.
    Greeting,
    /// To `EHLO`.
    Ehlo,
    /// To `HELO`, for a server that does not know the other.
    Helo,
    /// To `STARTTLS`.
    StartTls,
    /// None: the caller makes the connection secure.
    Securing,
    /// To `AUTH PLAIN` with its initial response.
    AuthPlain,
    /// To `AUTH LOGIN`: it asks for the name.
    AuthLogin,
    /// To the name: it asks for the password.
    AuthName,
    /// To the password.
    AuthPassword,
}

/// Consequence of a reply.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Another reply is awaited, or the caller's handshake.
    Opening(Opening),
    /// Transactions may begin.
    Ready,
}

impl Opening {
    /// The command the awaited reply belongs to, for errors.
    pub fn stage(self) -> &'static str {
        match self {
            Opening::Greeting => "the greeting",
            Opening::Ehlo => "EHLO",
            Opening::Helo => "HELO",
            Opening::StartTls => "STARTTLS",
            Opening::Securing => "the TLS handshake",
            Opening::AuthPlain | Opening::AuthLogin | Opening::AuthName | Opening::AuthPassword => "AUTH",
        }
    }

    /// How long its reply may take.
    pub fn timeout(self, timeouts: &Timeouts) -> Duration {
        match self {
            Opening::Greeting => timeouts.greeting,
            _ => timeouts.command,
        }
    }

    /// Takes the awaited reply and writes the next command. `encrypted`: the connection is.
    pub fn handle(
        self,
        reply: &Reply,
        options: &ClientOptions,
        encrypted: bool,
        extensions: &mut Extensions,
        out: &mut Outbox,
    ) -> Result<Next, Failure> {
        match (self, reply.class()) {
            (Opening::Greeting, Class::Completion) => Ok(ehlo(options, out)),
            (Opening::Ehlo, Class::Completion) => {
                *extensions = Extensions::parse(&reply.text);
                after_hello(options, encrypted, extensions, out)
            }
            // RFC 5321 §3.2: a server that does not know EHLO answers 500, 501 or 502; some say 504 or 550.
            (Opening::Ehlo, Class::Permanent) => {
                out.push(format!("HELO {}\r\n", options.hello).as_bytes());
                Ok(Next::Opening(Opening::Helo))
            }
            (Opening::Helo, Class::Completion) => {
                *extensions = Extensions::default();
                after_hello(options, encrypted, extensions, out)
            }
            (Opening::StartTls, Class::Completion) => Ok(Next::Opening(Opening::Securing)),
            (Opening::AuthLogin, Class::Intermediate) => {
                push_base64(out, options.credentials.as_ref().map_or("", |(name, _)| name));
                Ok(Next::Opening(Opening::AuthName))
            }
            (Opening::AuthName, Class::Intermediate) => {
                push_base64(out, options.credentials.as_ref().map_or("", |(_, password)| password));
                Ok(Next::Opening(Opening::AuthPassword))
            }
            (Opening::AuthPlain | Opening::AuthPassword, Class::Completion) => Ok(Next::Ready),
            (stage, Class::Transient | Class::Permanent) => Err(Failure::refused(stage.stage(), reply)),
            (stage, _) => Err(Failure::unexpected(stage.stage(), reply)),
        }
    }
}

/// Writes `EHLO`: at the beginning, and again when the connection is secure.
pub fn ehlo(options: &ClientOptions, out: &mut Outbox) -> Next {
    out.push(format!("EHLO {}\r\n", options.hello).as_bytes());
    Next::Opening(Opening::Ehlo)
}

/// The hello is done: secure the connection, then say who we are, then begin.
fn after_hello(
    options: &ClientOptions,
    encrypted: bool,
    extensions: &Extensions,
    out: &mut Outbox,
) -> Result<Next, Failure> {
    if options.tls == TlsMode::StartTls && !encrypted {
        if !extensions.start_tls {
            return Err(Failure::peer(
                "STARTTLS",
                "the server does not offer STARTTLS, and the route requires it".to_owned(),
            ));
        }
        out.push(b"STARTTLS\r\n");
        return Ok(Next::Opening(Opening::StartTls));
    }
    let Some((name, password)) = &options.credentials else { return Ok(Next::Ready) };
    if extensions.auth_plain {
        // RFC 4616 §2: no authorisation identity, then name and password after a NUL each.
        out.push(format!("AUTH PLAIN {}\r\n", BASE64.encode(format!("\0{name}\0{password}"))).as_bytes());
        Ok(Next::Opening(Opening::AuthPlain))
    } else if extensions.auth_login {
        out.push(b"AUTH LOGIN\r\n");
        Ok(Next::Opening(Opening::AuthLogin))
    } else {
        Err(Failure::peer(
            "AUTH",
            "the route has a username, and the server offers neither AUTH PLAIN nor LOGIN".to_owned(),
        ))
    }
}

fn push_base64(out: &mut Outbox, text: &str) {
    out.push(BASE64.encode(text).as_bytes());
    out.push(b"\r\n");
}
