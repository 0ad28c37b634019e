//! Connection of a route to its network, whichever that is.

use super::config::{ImProtocol, ImRoute};
use super::matrix::{MatrixConnection, Room};
use super::message::{ImMessage, SendResult};
use super::telegram::TelegramConnection;
use crate::GatewayContext;
use records::Outcome;
use std::sync::Arc;
use std::time::Duration;

/// Settings of a route, and the HTTP client made of them.
pub(super) struct ImSetup {
    pub(super) settings: ImRoute,
    pub(super) http: reqwest::Client,
}

/// A network that knows the route's account.
pub(super) enum ImConnection {
    Matrix(Box<MatrixConnection>),
    Telegram(Box<TelegramConnection>),
}

/// The place that a message goes to.
pub(super) enum ImTarget {
    Room(Arc<Room>),
    /// The address itself.
    Chat,
}

/// Events that were read together.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ReadBatch {
    pub(super) outcomes: Vec<Outcome>,
    /// From here on the next; empty: as before.
    pub(super) position: String,
    /// What is told back once the outcomes are on disk.
    pub(super) acknowledgements: Vec<Acknowledgement>,
    /// A word for the route's health.
    pub(super) warning: Option<String>,
}

/// The answer to a button that a person pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Acknowledgement {
    pub(super) id: String,
    /// Shown to the person.
    pub(super) note: String,
}

/// Why events cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReadError {
    /// The network is not there, or refuses the account.
    Down(String),
    /// It asks to wait, and messages may go on.
    Wait(Duration, String),
    /// It does not know the position.
    NoPosition,
}

impl ImConnection {
    /// Makes itself known to the network.
    ///
    /// # Errors
    /// Why the route cannot work, in words.
    pub(super) async fn open(setup: &ImSetup, context: &GatewayContext) -> Result<ImConnection, String> {
        Ok(match setup.settings.network() {
            ImProtocol::Matrix => {
                ImConnection::Matrix(Box::new(MatrixConnection::open(setup, context).await?))
            }
            ImProtocol::Telegram => {
                ImConnection::Telegram(Box::new(TelegramConnection::open(setup, context).await?))
            }
        })
    }

    /// The account, as its network names it.
    pub(super) fn account(&self) -> &str {
        match self {
            ImConnection::Matrix(matrix) => &matrix.me,
            ImConnection::Telegram(telegram) => &telegram.me,
        }
    }

    /// Without a position the network begins with now, so that one must be had before the first message.
    pub(super) fn begins_with_now(&self) -> bool {
        matches!(self, ImConnection::Matrix(_))
    }

    /// Finds the place that a message goes to. Nothing of the message is written by it.
    ///
    /// # Errors
    /// There is none.
    pub(super) async fn target(&self, message: &ImMessage) -> Result<ImTarget, SendResult> {
        match self {
            ImConnection::Matrix(matrix) => matrix.room_of(&message.address).await.map(ImTarget::Room),
            ImConnection::Telegram(_) => Ok(ImTarget::Chat),
        }
    }

    /// Writes a message.
    pub(super) async fn deliver(&self, target: &ImTarget, message: &ImMessage) -> SendResult {
        match (self, target) {
            (ImConnection::Matrix(matrix), ImTarget::Room(room)) => matrix.deliver(room, message).await,
            (ImConnection::Telegram(telegram), ImTarget::Chat) => telegram.deliver(message).await,
            _ => SendResult::Down { text: "the place is of another network".to_owned() },
        }
    }

    /// Reads what happened since a position, waiting for `poll` at most.
    ///
    /// # Errors
    /// See [`ReadError`]; the same position gives the same again.
    pub(super) async fn read(&self, since: Option<&str>, poll: Duration) -> Result<ReadBatch, ReadError> {
        match self {
            ImConnection::Matrix(matrix) => matrix.read(since, poll).await,
            ImConnection::Telegram(telegram) => telegram.read(since, poll).await,
        }
    }

    /// Tells the network that something was heard; its outcome is on disk.
    pub(super) async fn acknowledge(&self, acknowledgement: &Acknowledgement) {
        if let ImConnection::Telegram(telegram) = self {
            telegram.acknowledge(acknowledgement).await;
        }
    }
}
