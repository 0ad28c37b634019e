//! Short messages, by SMPP.

use crate::{Address, Channel, Defaults, SMS, Traits, number, phone};
use records::ChannelNumber;
use std::borrow::Cow;

/// Short messages.
pub(crate) struct SmsChannel;

impl Channel for SmsChannel {
    fn number(&self) -> ChannelNumber {
        SMS
    }
    fn name(&self) -> &'static str {
        "sms"
    }
    fn example(&self) -> &'static str {
        "+46701234567"
    }
    fn other_names(&self) -> &'static [&'static str] {
        &[
            "phone",
            "telephone",
            "tel",
            "telefon",
            "téléphone",
            "teléfono",
            "telefono",
            "telefone",
            "puhelin",
            "telefoon",
            "mobile",
            "mobilephone",
            "mobiletelephone",
            "cell",
            "cellphone",
            "cellular",
            "msisdn",
            "gsm",
            "mobil",
            "mobiltelefon",
            "mobiltel",
            "mobiel",
            "handy",
            "natel",
            "portable",
            "móvil",
            "movil",
            "celular",
            "cellulare",
            "telemóvel",
            "kännykkä",
            "matkapuhelin",
            "komórka",
        ]
    }
    fn vague_names(&self) -> &'static [&'static str] {
        &self.other_names()[..10]
    }
    fn form(&self) -> &'static str {
        "a number in E.164 form"
    }
    fn address(&self, text: &str, defaults: &Defaults) -> Result<Address, String> {
        phone::phone(text, defaults)
    }
    fn canonical<'t>(&self, text: &'t str, defaults: &Defaults) -> Cow<'t, str> {
        number::canonical(text, defaults)
    }
    fn check_prefix(&self, prefix: &str) -> Result<(), String> {
        phone::check_prefix(prefix)
    }
    fn traits(&self) -> Traits {
        Traits { receipts: true, replies: true, choices_line: true, opt_out: true, ..Traits::default() }
    }
}
