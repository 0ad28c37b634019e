use servers::ports::Port;
use std::sync::Mutex;

/// A free loopback port that no other test has, in this process or another, until this process ends: also not
/// while the server that listens there is started again.
///
/// # Panics
/// None is free.
pub fn free_port() -> u16 {
    static TAKEN: Mutex<Vec<Port>> = Mutex::new(Vec::new());
    let port = Port::take();
    let number = port.number();
    TAKEN.lock().unwrap().push(port);
    number
}
