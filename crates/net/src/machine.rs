use std::time::Instant;

/// A protocol machine: octets and instants in, octets, events and a deadline out. It never reads a clock,
/// never sleeps, never owns a socket.
pub trait Machine {
    /// What the worker must know of; may point into the machine's input.
    type Event<'a>
    where
        Self: 'a;

    /// Octets from the peer, in the order they came. Partial messages are kept by the machine, within its
    /// limits.
    fn handle_input(&mut self, now: Instant, input: &[u8]);
    /// The instant of [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, now: Instant);
    /// Nothing more will come from the peer, and nothing more reaches it.
    fn handle_eof(&mut self, now: Instant);
    /// Appends octets that wait for the peer to `output`: all of them, or a piece; it is called again once
    /// those are written.
    fn poll_transmit(&mut self, output: &mut Vec<u8>);
    /// When to call [`handle_timeout`](Self::handle_timeout). May change with any other call.
    fn poll_timeout(&self) -> Option<Instant>;
    /// The next event; called until there is none after each input and timeout.
    fn poll_event(&mut self) -> Option<Self::Event<'_>>;
    /// Whether to read from the peer: not while too much output waits for it.
    fn wants_input(&self) -> bool;
    /// Nothing more will be said or understood: once the output is written, the connection ends.
    fn is_finished(&self) -> bool;
}

impl Machine for smpp::session::Session {
    type Event<'a> = smpp::session::Event<'a>;

    fn handle_input(&mut self, now: Instant, input: &[u8]) {
        smpp::session::Session::handle_input(self, input, now);
    }
    fn handle_timeout(&mut self, now: Instant) {
        smpp::session::Session::handle_timeout(self, now);
    }
    fn handle_eof(&mut self, now: Instant) {
        smpp::session::Session::handle_eof(self, now);
    }
    fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        smpp::session::Session::poll_transmit(self, output);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        smpp::session::Session::poll_timeout(self)
    }
    fn poll_event(&mut self) -> Option<Self::Event<'_>> {
        smpp::session::Session::poll_event(self)
    }
    fn wants_input(&self) -> bool {
        smpp::session::Session::wants_input(self)
    }
    fn is_finished(&self) -> bool {
        self.state() == smpp::session::SessionState::Closed
    }
}

impl<P: smtp::server::RecipientPolicy> Machine for smtp::server::SmtpServer<P> {
    type Event<'a>
        = smtp::server::SmtpServerEvent<P::Recipient>
    where
        P: 'a;

    fn handle_input(&mut self, now: Instant, input: &[u8]) {
        smtp::server::SmtpServer::handle_input(self, now, input);
    }
    fn handle_timeout(&mut self, now: Instant) {
        smtp::server::SmtpServer::handle_timeout(self, now);
    }
    fn handle_eof(&mut self, _now: Instant) {
        smtp::server::SmtpServer::handle_eof(self);
    }
    fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        smtp::server::SmtpServer::poll_transmit(self, output);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        smtp::server::SmtpServer::poll_timeout(self)
    }
    fn poll_event(&mut self) -> Option<Self::Event<'_>> {
        smtp::server::SmtpServer::poll_event(self)
    }
    fn wants_input(&self) -> bool {
        smtp::server::SmtpServer::wants_input(self)
    }
    fn is_finished(&self) -> bool {
        smtp::server::SmtpServer::is_finished(self)
    }
}

impl Machine for mqtt::client::MqttClient {
    type Event<'a> = mqtt::client::MqttClientEvent;

    fn handle_input(&mut self, now: Instant, input: &[u8]) {
        mqtt::client::MqttClient::handle_input(self, now, input);
    }
    fn handle_timeout(&mut self, now: Instant) {
        mqtt::client::MqttClient::handle_timeout(self, now);
    }
    fn handle_eof(&mut self, now: Instant) {
        mqtt::client::MqttClient::handle_eof(self, now);
    }
    fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        mqtt::client::MqttClient::poll_transmit(self, output);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        mqtt::client::MqttClient::poll_timeout(self)
    }
    fn poll_event(&mut self) -> Option<Self::Event<'_>> {
        mqtt::client::MqttClient::poll_event(self)
    }
    fn wants_input(&self) -> bool {
        mqtt::client::MqttClient::wants_input(self)
    }
    fn is_finished(&self) -> bool {
        mqtt::client::MqttClient::is_finished(self)
    }
}

impl Machine for mqtt::server::MqttServer {
    type Event<'a> = mqtt::server::MqttServerEvent;

    fn handle_input(&mut self, now: Instant, input: &[u8]) {
        mqtt::server::MqttServer::handle_input(self, now, input);
    }
    fn handle_timeout(&mut self, now: Instant) {
        mqtt::server::MqttServer::handle_timeout(self, now);
    }
    fn handle_eof(&mut self, _now: Instant) {
        mqtt::server::MqttServer::handle_eof(self);
    }
    fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        mqtt::server::MqttServer::poll_transmit(self, output);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        mqtt::server::MqttServer::poll_timeout(self)
    }
    fn poll_event(&mut self) -> Option<Self::Event<'_>> {
        mqtt::server::MqttServer::poll_event(self)
    }
    fn wants_input(&self) -> bool {
        mqtt::server::MqttServer::wants_input(self)
    }
    fn is_finished(&self) -> bool {
        mqtt::server::MqttServer::is_finished(self)
    }
}
