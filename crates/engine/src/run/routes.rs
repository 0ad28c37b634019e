//! Routes as operators see and steer them: how each stands, its use stopped and taken up again, a test
//! message by one of them or to one device.

use super::command::RouteQuestion;
use super::route_activity::RoutePoint;
use super::route_holds::RouteHolds;
use super::route_states::RouteStatus;
use super::{ActorCommand, Engine};
use crate::api::{Draft, EngineError, Submitted};
use records::{
    AlertRequest, AudienceEntry, Mode, OnUnknown, Origin, Priority, Route, RouteHold, Strategy, Terminal,
    Texts,
};

/// A test is tried for so long, in seconds.
pub const TEST_LASTS_S: i64 = 600;

/// Routes of an engine.
pub struct Routes<'a> {
    engine: &'a Engine,
}

/// One message to one address, to see whether it arrives.
#[derive(Debug, Clone)]
pub struct RouteTest {
    /// Whose test it is.
    pub account: String,
    /// By which token or session.
    pub token: String,
    /// Live or drill.
    pub mode: Mode,
    /// Where to: an address as an audience names it, such as `sms:+46701740605`.
    pub to: String,
    /// By this route alone; nothing: as an alert would go.
    pub route: Option<String>,
    /// As it is sent: no template.
    pub text: String,
}

impl Routes<'_> {
    /// Of this engine.
    pub fn of(engine: &Engine) -> Routes<'_> {
        Routes { engine }
    }

    /// A configured route.
    pub fn named(&self, name: &str) -> Option<Route> {
        super::routes_of(self.engine).iter().find(|route| route.name == name).cloned()
    }

    /// How each stands, in the order of the configuration; of several processes the leading one knows.
    ///
    /// # Errors
    /// The engine is closing, or another process leads.
    pub async fn states(&self) -> Result<Vec<RouteStatus>, EngineError> {
        self.engine.request(|reply| ActorCommand::OfRoutes(RouteQuestion::States { reply })).await
    }

    /// What a route did in the last 15 minutes, a point each 10 seconds; nothing: there is no such route.
    ///
    /// # Errors
    /// As [`Routes::states`].
    pub async fn history(&self, name: &str) -> Result<Option<Vec<RoutePoint>>, EngineError> {
        let name = name.to_owned();
        self.engine.request(|reply| ActorCommand::OfRoutes(RouteQuestion::History { name, reply })).await
    }

    /// The hold of a route, if its use is stopped.
    ///
    /// # Errors
    /// The bus's.
    pub fn hold_of(&self, name: &str) -> Result<Option<RouteHold>, EngineError> {
        Ok(self.holds()?.of(name))
    }

    /// Stops the use of a route, in all processes, until it is released; resolves when that is on disk. What
    /// was given to it comes back, and takes another way or waits.
    ///
    /// # Errors
    /// The bus's: then nothing has changed.
    pub async fn hold(&self, name: &str, hold: &RouteHold) -> Result<(), EngineError> {
        self.holds()?.set(name, Some(hold)).await
    }

    /// Takes the use of a route up again; resolves when that is on disk.
    ///
    /// # Errors
    /// The bus's: then nothing has changed.
    pub async fn release(&self, name: &str) -> Result<(), EngineError> {
        self.holds()?.set(name, None).await
    }

    fn holds(&self) -> Result<RouteHolds, EngineError> {
        RouteHolds::open(&*self.engine.parts().bus)
    }

    /// Sends a test: an alert to one address, which no list shows and nobody answers. On disk when this
    /// resolves.
    ///
    /// # Errors
    /// As [`Engine::submit`].
    pub async fn test(&self, test: RouteTest) -> Result<Submitted, EngineError> {
        let expires = self.engine.parts().now().plus_s(TEST_LASTS_S);
        let request = AlertRequest {
            headline: None,
            text: Some(crate::literal_text(&test.text)),
            texts: Texts::default(),
            audience: vec![AudienceEntry { to: test.to, strategy: None, expires: None }],
            exclude: Vec::new(),
            channels: Vec::new(),
            strategy: Strategy::All,
            require_answer: false,
            choices: Vec::new(),
            terminal: Terminal::Accepted,
            not_before: None,
            expires,
            priority: Priority::Urgent,
            on_unknown: OnUnknown::Hold,
            callback: None,
            sender: None,
            mode: test.mode,
            participants_only: false,
            answer_rules: records::AnswerRules::default(),
            follows: None,
            flash: false,
            resources: Vec::new(),
            attachments: Vec::new(),
            area: None,
        };
        let draft = Draft {
            account: test.account,
            token: test.token,
            authors: Vec::new(),
            request,
            origin: Origin::Test { route: test.route },
            key: None,
            wait_solved: false,
            note: None,
        };
        self.engine.submit(draft).await
    }
}
