//! Order of a person's devices by what they prefer: text or voice.

use records::{Device, Preference, Recipient};
use std::borrow::Cow;

/// A person's devices, those of the kind that they prefer first, else in their own order.
pub(super) fn preferred_first(person: &Recipient) -> Cow<'_, [Device]> {
    match person.prefers {
        None => Cow::Borrowed(&person.devices),
        Some(preference) => {
            ordered(&person.devices, preference, |device| channels::traits(device.channel).speaks)
        }
    }
}

/// The devices of the preferred kind first; nothing is copied where they are already.
fn ordered(
    devices: &[Device],
    preference: Preference,
    speaks: impl Fn(&Device) -> bool,
) -> Cow<'_, [Device]> {
    let is_later = |device: &Device| speaks(device) != (preference == Preference::Voice);
    if devices.is_sorted_by_key(is_later) {
        return Cow::Borrowed(devices);
    }
    let mut devices = devices.to_vec();
    devices.sort_by_key(is_later);
    Cow::Owned(devices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_the_preferred_kind_come_first_and_each_kind_keeps_its_order() {
        let device = |address: &str| Device::new(channels::SMS, address.to_owned());
        let devices = ["text 1", "voice 1", "text 2", "voice 2"].map(device).to_vec();
        let addresses = |preference| {
            let ordered = ordered(&devices, preference, |device| device.address.starts_with("voice"));
            ordered.iter().map(|device| device.address.clone()).collect::<Vec<_>>()
        };
        assert_eq!(addresses(Preference::Text), ["text 1", "text 2", "voice 1", "voice 2"]);
        assert_eq!(addresses(Preference::Voice), ["voice 1", "voice 2", "text 1", "text 2"]);
        let person = Recipient { devices, ..Recipient::default() };
        assert!(matches!(preferred_first(&person), Cow::Borrowed(_)));
        let person = Recipient { prefers: Some(Preference::Text), ..person };
        assert!(matches!(preferred_first(&person), Cow::Borrowed(_)), "all show a text: nothing moves");
    }
}
