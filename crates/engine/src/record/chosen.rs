//! Counts the people who made a choice, where an alert ends once they are enough.

use super::LiveAlert;
use super::people::PersonPlace;
use records::{EndpointNo, StopWhen};
use rustc_hash::FxHashSet;

/// Have so many people made the choice? Answers are counted first, which costs nothing; people only when
/// there are enough answers, since some of them may be of one person.
pub fn have_chosen(live: &mut LiveAlert, wanted: &StopWhen) -> bool {
    let answers = live.answers.counts().get(&wanted.choice).copied().unwrap_or_default();
    if answers < u64::from(wanted.people) || answers < live.answers.look_again_at {
        return false;
    }
    let people = people_who_chose(live, &wanted.choice);
    let missing = wanted.people.saturating_sub(people);
    live.answers.look_again_at = answers + u64::from(missing);
    missing == 0
}

/// One answer is of one person, also where several are behind its device.
fn people_who_chose(live: &LiveAlert, key: &str) -> u32 {
    let mut counted: FxHashSet<u32> = FxHashSet::default();
    let mut people = 0;
    live.people_from(PersonPlace::default(), |person| {
        let place_of = |at: &EndpointNo| live.cell(*at).map(|cell| cell.answer);
        let is_it =
            |place: &u32| live.answers.of(*place).is_some_and(|answer| answer.key.as_deref() == Some(key));
        let places: Vec<u32> = person.devices.iter().filter_map(place_of).filter(is_it).collect();
        let is_new = !places.is_empty() && places.iter().all(|place| !counted.contains(place));
        people += u32::from(is_new);
        counted.extend(places);
        true
    });
    people
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::Wording;
    use crate::plan::Classifier;
    use crate::record::{Folding, StringTable};
    use crate::testing::{alert, entry, request};
    use records::{Answer, Person, RosterBlock, RosterEntry, Timestamp};
    use std::sync::Arc;

    fn device(people: &[&str], number: u32) -> RosterEntry {
        let person = |id: &&str| Person { recipient: (*id).into(), name: String::new(), step: 0 };
        let persons = people.iter().map(person).collect();
        RosterEntry { persons, ..entry(channels::SMS, &format!("+4670000000{number}")) }
    }

    #[test]
    fn people_are_counted_and_not_their_answers() {
        let request = request("x");
        let wording = Arc::new(Wording::new(&request).unwrap());
        let mut live = LiveAlert::new(alert(1, request), wording);
        let entries = vec![
            device(&["ann"], 0),
            device(&["ann"], 1),
            device(&["bo", "cy", "di"], 2),
            device(&["ed"], 3),
        ];
        let block = RosterBlock { entries, ..RosterBlock::default() };
        live.admit(&block, &Classifier::new(Vec::new()), Timestamp(0));
        live.seal();
        let wanted = StopWhen { choice: "1".into(), people: 3 };
        let (mut words, mut effects) = (StringTable::default(), Vec::new());
        let mut answer = |live: &mut LiveAlert, endpoint: u32, key: &str, at: i64| {
            let answer =
                Answer { key: Some(key.into()), text: "x".into(), via: "sms".into(), at: Timestamp(at) };
            let mut folding = Folding { words: &mut words, retry_after_s: &[], effects: &mut effects };
            folding.answer(live, EndpointNo(endpoint), answer);
            have_chosen(live, &wanted)
        };
        for (endpoint, key, is_enough) in
            [(0, "1", false), (1, "1", false), (2, "1", false), (3, "2", false), (3, "1", true)]
        {
            assert_eq!(answer(&mut live, endpoint, key, 1), is_enough, "device {endpoint} answers {key}");
        }
        assert!(!answer(&mut live, 2, "2", 2), "who changes their mind counts no more");
        assert!(answer(&mut live, 2, "1", 3));
    }
}
