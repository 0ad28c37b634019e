//! The door over real sockets, with `smpp::session` as its client and an engine that only remembers.

mod binding;
mod client;
mod hostile;
mod ingoing;
mod outgoing;
mod steering;
mod test_door;
mod whole;
