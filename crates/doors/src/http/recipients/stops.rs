//! Stops in a person's record: shown as marks of devices, and taken from them into the account's list, which
//! is the one place where they stand.

use crate::http::app::App;
use crate::http::problem::HttpResult;
use records::{ChannelNumber, Recipient};

/// Addresses whose stops a record brings.
pub(crate) type Stops = Vec<(ChannelNumber, String)>;

/// Takes the marks off records that are to be stored. A mark that is not there takes nothing back: a record
/// from elsewhere knows nothing of a STOP that was said here.
pub(crate) fn taken(people: &mut [Recipient]) -> Stops {
    let mut stops = Stops::new();
    for device in people.iter_mut().flat_map(|person| &mut person.devices) {
        if channels::traits(device.channel).opt_out && std::mem::take(&mut device.opted_out) {
            stops.push((device.channel, canonical(device.channel, &device.address)));
        }
    }
    stops
}

fn canonical(channel: ChannelNumber, address: &str) -> String {
    channels::canonical(channel, address, &channels::Defaults::default()).into_owned()
}

/// Marks the devices whose owners said stop.
pub(crate) async fn mark(app: &App, account: &str, people: &mut [Recipient]) -> HttpResult<()> {
    Ok(engine::Stops::of(&app.engine).mark_stops(account, people).await?)
}
