//! Outcomes of submissions and receipts, and their correlation.

use records::{AttemptResult, AttemptResultRef, Receipt, ReceiptState, Timestamp};
use smpp::Status;
use smpp::receipt::{self, IdForm, MessageState};

/// Ids of so many answers or receipts are looked at before the carrier's habit counts as known.
const EVIDENCE_MIN: u32 = 16;

/// What an answer to a submission means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubmitVerdict {
    /// The carrier has it.
    Accepted,
    /// The carrier wants less speed; the message itself may come again.
    Throttled,
    /// The carrier said no.
    Refused {
        /// Trying again would get the same no.
        permanent: bool,
    },
}

/// Refusals that another try may overcome: faults of the carrier's systems, of our session, or of the phone
/// just now. All others name something in the message that will be the same next time (3.4 §5.1.3, 5.0
/// §4.7.6).
const TEMPORARY: [Status; 15] = [
    Status::RINVBNDSTS,
    Status::RALYBND,
    Status::RSYSERR,
    Status::RBINDFAIL,
    Status::RINVPASWD,
    Status::RINVSYSID,
    Status::RSUBMITFAIL,
    Status::RX_T_APPN,
    Status::RQUERYFAIL,
    Status::RDELIVERYFAILURE,
    Status::RUNKNOWNERR,
    Status::RSERTYPUNAVAIL,
    Status::RCANCELFAIL,
    Status::RREPLACEFAIL,
    Status::RBCASTFAIL,
];

/// What a status means.
pub(super) fn verdict(status: Status) -> SubmitVerdict {
    match status {
        Status::ROK => SubmitVerdict::Accepted,
        status if status.is_throttle() => SubmitVerdict::Throttled,
        // A vendor's codes and reserved ones: nobody knows, and another try costs little.
        status if status.name().is_none() => SubmitVerdict::Refused { permanent: false },
        status => SubmitVerdict::Refused { permanent: !TEMPORARY.contains(&status) },
    }
}

/// A refusal on record.
pub(super) fn refused(status: Status, permanent: bool) -> AttemptResult {
    let text = match status.name() {
        Some(name) => format!("{} (ESME_{name})", status.text()),
        None => status.text().to_owned(),
    };
    AttemptResult::Refused { permanent, code: format!("smpp:{:08X}", status.0), text }
}

/// Makes keys of a carrier's ids: the same for an answer and for the receipts that are about it, different
/// from those of other routes, the same for ever. With `Auto` it learns the carrier's habit, since trying
/// every form may take one message's receipt for another's where ids are small numbers.
#[derive(Debug)]
pub(super) struct Ids {
    route: u64,
    form: IdForm,
    answers: SeenIds,
    receipts: SeenIds,
}

/// What ids looked like.
#[derive(Debug, Default)]
struct SeenIds {
    count: u32,
    /// With letters from a to f, and nothing beyond hexadecimal digits.
    hex: bool,
    /// With anything else.
    other: bool,
}

impl SeenIds {
    fn look(&mut self, id: &[u8]) {
        let id = id.strip_prefix(b"0x").or(id.strip_prefix(b"0X")).unwrap_or(id);
        self.count = self.count.saturating_add(1);
        if !id.iter().all(u8::is_ascii_hexdigit) {
            self.other = true;
        } else if id.iter().any(u8::is_ascii_alphabetic) {
            self.hex = true;
        }
    }
    fn known(&self) -> bool {
        self.count >= EVIDENCE_MIN
    }
}

impl Ids {
    pub(super) fn new(route: &str, form: IdForm) -> Ids {
        // FNV-1a of 64 bits: keys are kept on disk, so this never changes.
        let route = route.bytes().fold(0xCBF2_9CE4_8422_2325u64, |hash, octet| {
            (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        Ids { route, form, answers: SeenIds::default(), receipts: SeenIds::default() }
    }

    /// Another habit is said.
    pub(super) fn set_form(&mut self, form: IdForm) {
        self.form = form;
    }

    /// The key of a message that the carrier took under this id; nothing if it gave none.
    pub(super) fn key(&mut self, id: &[u8]) -> Option<u64> {
        if id.is_empty() {
            return None;
        }
        if self.form == IdForm::Auto {
            self.answers.look(id);
        }
        Some(self.of_route(receipt::submit_key(id)))
    }

    /// The keys a receipt's message may have, the surest first.
    pub(super) fn receipt_keys(&mut self, receipt: &receipt::Receipt<'_>) -> Vec<u64> {
        if self.form == IdForm::Auto && !receipt.text_id.is_empty() {
            self.receipts.look(receipt.text_id);
        }
        self.keys_of(receipt)
    }

    /// The same without learning from it.
    pub(super) fn keys_of(&self, receipt: &receipt::Receipt<'_>) -> Vec<u64> {
        let mut keys = Vec::new();
        // By the specification the TLV repeats the answer's id; only the text is written in another way.
        // Where there is the TLV alone, carriers are not to be trusted that far.
        for id in receipt.ids() {
            let exact =
                id == receipt.tlv_id && !receipt.text_id.is_empty() && receipt.text_id != receipt.tlv_id;
            let form = if exact { IdForm::AsIs } else { self.form_now() };
            keys.extend(receipt::receipt_keys(id, form).into_iter().map(|key| self.of_route(key)));
        }
        let mut seen = Vec::with_capacity(keys.len());
        keys.retain(|key| {
            !seen.contains(key) && {
                seen.push(*key);
                true
            }
        });
        keys
    }

    /// The carrier's habit, as far as it is known.
    fn form_now(&self) -> IdForm {
        let (answers, receipts) = (&self.answers, &self.receipts);
        if self.form != IdForm::Auto || !answers.known() {
            return self.form;
        }
        if answers.other || receipts.other {
            return IdForm::AsIs;
        }
        match (answers.hex, receipts.hex) {
            (true, true) => IdForm::AsIs,
            (true, false) if receipts.known() => IdForm::HexToDecimal,
            (true, false) => IdForm::Auto,
            (false, true) => IdForm::DecimalToHex,
            (false, false) => IdForm::AsIs,
        }
    }

    /// Never 0, which means no key.
    fn of_route(&self, key: u64) -> u64 {
        let mixed = (key ^ self.route).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        (mixed ^ (mixed >> 33)).max(1)
    }
}

/// The acceptance of a message, of borrowed pieces.
pub(super) fn accepted<'a>(key: &'a Option<u64>, id: &'a str) -> AttemptResultRef<'a> {
    AttemptResultRef::Accepted { keys: key.as_slice(), id }
}

/// A receipt on record; `keys` are those of [`Ids::receipt_keys`].
pub(super) fn receipt_outcome(
    receipt: &receipt::Receipt<'_>,
    keys: Vec<u64>,
    route: &str,
    at: Timestamp,
) -> Receipt {
    let id = String::from_utf8_lossy(receipt.id()).into_owned();
    let (state, text) = (receipt_state(receipt), receipt_text(receipt));
    Receipt { route: route.to_owned(), keys, id, state, text, at }
}

fn receipt_state(receipt: &receipt::Receipt<'_>) -> ReceiptState {
    match receipt.state {
        Some(MessageState::Delivered) => ReceiptState::Delivered,
        // An intermediate notification says how it stands, not how it ends.
        _ if receipt.intermediate => ReceiptState::Buffered,
        Some(MessageState::Expired) => ReceiptState::Expired,
        Some(
            MessageState::Deleted
            | MessageState::Undeliverable
            | MessageState::Unknown
            | MessageState::Rejected
            | MessageState::Skipped,
        ) => ReceiptState::Failed,
        Some(MessageState::Scheduled | MessageState::Enroute | MessageState::Accepted) | None => {
            ReceiptState::Buffered
        }
    }
}

/// The network's words: state, error code.
fn receipt_text(receipt: &receipt::Receipt<'_>) -> String {
    let mut text = match (receipt.state_word, receipt.state) {
        ([], Some(state)) => state.word().to_owned(),
        (word, _) => String::from_utf8_lossy(word).into_owned(),
    };
    if !receipt.error.is_empty() && receipt.error.iter().any(|&octet| octet != b'0') {
        text.push_str(" err:");
        text.push_str(&String::from_utf8_lossy(receipt.error));
    }
    if let Some(error) = receipt.network_error {
        text.push_str(&format!(" network {} error {}", error.network, error.code));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_accepted_throttled_or_refused_for_now_or_for_good() {
        let permanent = |status| verdict(status) == SubmitVerdict::Refused { permanent: true };
        assert_eq!(verdict(Status::ROK), SubmitVerdict::Accepted);
        for status in [Status::RTHROTTLED, Status::RMSGQFUL] {
            assert_eq!(verdict(status), SubmitVerdict::Throttled);
        }
        for status in
            [Status::RINVDSTADR, Status::RINVSRCADR, Status::RINVMSGLEN, Status::RX_P_APPN, Status::RINVDCS]
        {
            assert!(permanent(status), "{status}");
        }
        for status in [Status::RSYSERR, Status::RX_T_APPN, Status::RSUBMITFAIL, Status(0x4FF), Status(0x7777)]
        {
            assert!(!permanent(status), "{status}");
        }
        for status in Status::ALL {
            let AttemptResult::Refused { code, text, .. } = refused(*status, true) else { unreachable!() };
            assert!(
                code.len() == 13 && code.starts_with("smpp:0000") && text.contains("ESME_"),
                "{code} {text}"
            );
        }
        assert_eq!(
            refused(Status::RINVDSTADR, true),
            AttemptResult::Refused {
                permanent: true,
                code: "smpp:0000000B".to_owned(),
                text: "invalid destination address (ESME_RINVDSTADR)".to_owned(),
            }
        );
    }

    fn key_of(ids: &mut Ids, id: &str) -> u64 {
        ids.key(id.as_bytes()).unwrap()
    }

    fn keys_of(ids: &mut Ids, text_id: &str) -> Vec<u64> {
        ids.receipt_keys(&receipt::Receipt { text_id: text_id.as_bytes(), ..receipt::Receipt::default() })
    }

    #[test]
    fn a_receipt_shares_a_key_with_its_answer_in_every_form_and_with_no_other_route() {
        let cases = [
            (IdForm::AsIs, "0012aB", "12AB"),
            (IdForm::HexToDecimal, "1A2B", "6699"),
            (IdForm::DecimalToHex, "6699", "1a2b"),
            (IdForm::Auto, "1A2B", "6699"),
            (IdForm::Auto, "6699", "00001A2B"),
            (IdForm::Auto, "any-Thing", "any-Thing"),
        ];
        for (form, answer, in_receipt) in cases {
            let (mut ids, mut other) = (Ids::new("one", form), Ids::new("two", form));
            let key = key_of(&mut ids, answer);
            assert!(keys_of(&mut ids, in_receipt).contains(&key), "{form:?} {answer} {in_receipt}");
            assert!(!keys_of(&mut other, in_receipt).contains(&key), "{form:?} over routes");
            // The same after a restart, when nothing is learnt yet.
            assert!(keys_of(&mut Ids::new("one", form), in_receipt).contains(&key));
        }
    }

    #[test]
    fn the_carriers_habit_is_learnt_so_that_small_numbers_are_not_mixed_up() {
        // Decimal both ways: the receipt for 4096 must not be taken for the message 1000, which is
        // hexadecimal 4096.
        let mut ids = Ids::new("r", IdForm::Auto);
        let keys: Vec<u64> = (1_000..1_016).map(|id| key_of(&mut ids, &id.to_string())).collect();
        assert_eq!(keys_of(&mut ids, "1003"), vec![keys[3]]);
        assert!(!keys_of(&mut ids, "4096").contains(&keys[0]));

        // Hexadecimal answers, decimal receipts.
        let mut ids = Ids::new("r", IdForm::Auto);
        let keys: Vec<u64> = (0xA000..0xA020).map(|id| key_of(&mut ids, &format!("{id:X}"))).collect();
        for (at, key) in keys.iter().enumerate() {
            assert!(keys_of(&mut ids, &(0xA000 + at).to_string()).contains(key));
        }
        assert_eq!(keys_of(&mut ids, &0xA005.to_string()), vec![keys[5]]);

        // Hexadecimal both ways.
        let mut ids = Ids::new("r", IdForm::Auto);
        (0xA000..0xA020).for_each(|id| {
            key_of(&mut ids, &format!("{id:X}"));
        });
        keys_of(&mut ids, "A00F");
        assert_eq!(keys_of(&mut ids, "1000"), vec![key_of(&mut ids, "1000")]);

        // Letters beyond hexadecimal.
        let mut ids = Ids::new("r", IdForm::Auto);
        (0..20).for_each(|id| {
            key_of(&mut ids, &format!("msg{id}"));
        });
        assert_eq!(keys_of(&mut ids, "msg7"), vec![key_of(&mut ids, "msg7")]);
    }

    #[test]
    fn a_receipt_says_what_the_network_said() {
        let cases: [(&[u8], bool, ReceiptState, &str); 7] = [
            (b"id:1 sub:001 dlvrd:001 submit date:2001010000 done date:2001010000 stat:DELIVRD err:000 text:x", false, ReceiptState::Delivered, "DELIVRD"),
            (b"id:1 stat:UNDELIV err:045 text:", false, ReceiptState::Failed, "UNDELIV err:045"),
            (b"id:1 stat:EXPIRED err:0", false, ReceiptState::Expired, "EXPIRED"),
            (b"id:1 stat:ACCEPTD err:000", false, ReceiptState::Buffered, "ACCEPTD"),
            (b"id:1 stat:UNDELIV err:001", true, ReceiptState::Buffered, "UNDELIV err:001"),
            (b"id:1 stat:DELIVRD", true, ReceiptState::Delivered, "DELIVRD"),
            (b"id:1 stat:WHATEVER", false, ReceiptState::Buffered, "WHATEVER"),
        ];
        for (text, intermediate, state, words) in cases {
            let mut receipt = receipt::Receipt::parse(text, smpp::Tlvs::NONE);
            receipt.intermediate = intermediate;
            let outcome = receipt_outcome(&receipt, vec![1], "r", Timestamp(5));
            assert_eq!((outcome.state, outcome.text.as_str()), (state, words));
        }
    }
}
