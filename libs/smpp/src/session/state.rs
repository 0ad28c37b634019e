//! The session's states, and who may send what in which (3.4 §2.2 and table 2-1; 5.0 §2.4).

use super::config::Role;
use crate::pdu::{BindMode, Command};

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// Connected, not bound.
    Open,
    /// 5.0: the SMSC has connected and asked the ESME to bind.
    Outbound,
    /// BOUND_TX, BOUND_RX or BOUND_TRX.
    Bound(BindMode),
    /// Bound, and one side has asked to end it: what is outstanding drains.
    Unbound,
    /// Over.
    Closed,
}

/// One row: a command, and the states in which each side may send it.
struct Row {
    command: Command,
    esme: &'static [StateColumn],
    smsc: &'static [StateColumn],
}

/// A column of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StateColumn {
    Open,
    Outbound,
    /// Bound so that the ESME submits.
    Transmits,
    /// Bound so that the ESME is delivered to.
    Receives,
    Unbound,
}

use StateColumn::{Open, Outbound, Receives, Transmits, Unbound};

const fn row(command: Command, esme: &'static [StateColumn], smsc: &'static [StateColumn]) -> Row {
    Row { command, esme, smsc }
}

/// Ordered so that the busy commands are found first.
const TABLE: [Row; 17] = [
    // submit_sm            ESME in BOUND_TX, BOUND_TRX
    row(Command::SUBMIT_SM, &[Transmits], &[]),
    // deliver_sm           SMSC in BOUND_RX, BOUND_TRX
    row(Command::DELIVER_SM, &[], &[Receives]),
    // data_sm              ESME in BOUND_TX, BOUND_TRX; SMSC in BOUND_RX, BOUND_TRX
    row(Command::DATA_SM, &[Transmits], &[Receives]),
    // enquire_link         either, bound; 5.0: in any state
    row(
        Command::ENQUIRE_LINK,
        &[Open, Outbound, Transmits, Receives, Unbound],
        &[Open, Outbound, Transmits, Receives, Unbound],
    ),
    // bind_transmitter     ESME in OPEN
    row(Command::BIND_TRANSMITTER, &[Open], &[]),
    // bind_receiver        ESME in OPEN, OUTBOUND
    row(Command::BIND_RECEIVER, &[Open, Outbound], &[]),
    // bind_transceiver     ESME in OPEN; 5.0: OUTBOUND
    row(Command::BIND_TRANSCEIVER, &[Open, Outbound], &[]),
    // outbind              SMSC in OPEN
    row(Command::OUTBIND, &[], &[Open]),
    // unbind               either, bound
    row(Command::UNBIND, &[Transmits, Receives, Unbound], &[Transmits, Receives, Unbound]),
    // submit_multi         ESME in BOUND_TX, BOUND_TRX
    row(Command::SUBMIT_MULTI, &[Transmits], &[]),
    // query_sm             ESME in BOUND_TX, BOUND_TRX
    row(Command::QUERY_SM, &[Transmits], &[]),
    // cancel_sm            ESME in BOUND_TX, BOUND_TRX
    row(Command::CANCEL_SM, &[Transmits], &[]),
    // replace_sm           ESME in BOUND_TX, BOUND_TRX
    row(Command::REPLACE_SM, &[Transmits], &[]),
    // alert_notification   SMSC in BOUND_RX, BOUND_TRX
    row(Command::ALERT_NOTIFICATION, &[], &[Receives]),
    // broadcast_sm         ESME in BOUND_TX, BOUND_TRX
    row(Command::BROADCAST_SM, &[Transmits], &[]),
    // query_broadcast_sm   ESME in BOUND_TX, BOUND_TRX
    row(Command::QUERY_BROADCAST_SM, &[Transmits], &[]),
    // cancel_broadcast_sm  ESME in BOUND_TX, BOUND_TRX
    row(Command::CANCEL_BROADCAST_SM, &[Transmits], &[]),
];

/// Whether there is such a request at all.
#[inline]
pub(super) fn is_request(command: Command) -> bool {
    TABLE.iter().any(|row| row.command == command)
}

/// Whether `sender` may send the request `command` in `state`.
#[must_use]
#[inline]
pub fn may_send(sender: Role, command: Command, state: SessionState) -> bool {
    let Some(row) = TABLE.iter().find(|row| row.command == command) else {
        return false;
    };
    let wanted = match sender {
        Role::Esme => row.esme,
        Role::Smsc => row.smsc,
    };
    wanted.iter().any(|wanted| match (wanted, state) {
        (Open, SessionState::Open)
        | (Outbound, SessionState::Outbound)
        | (Unbound, SessionState::Unbound) => true,
        (Transmits, SessionState::Bound(mode)) => mode.transmits(),
        (Receives, SessionState::Bound(mode)) => mode.receives(),
        _ => false,
    })
}
