//! Verdict on a database and a bus: whether they belong together, out of what each says of itself; and the
//! words of a refusal.

use super::PairNames;
use uuid::Uuid;

/// What a database says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseFacts {
    /// Who it is.
    pub house: Uuid,
    /// The id of its pair.
    pub pair: Option<Uuid>,
    /// How far it has read the outcomes.
    pub folded_to: u64,
    /// How far it has read the messages of platforms.
    pub intake_to: u64,
    /// It has had alerts and a bus with outcomes of them.
    pub has_worked: bool,
}

/// Where a topic begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TopicSpan {
    /// The lowest index.
    pub low: u64,
    /// The next one.
    pub head: u64,
}

/// What a bus says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BusFacts {
    /// The id of its pair, and the database that it was made with.
    pub pair: Option<(Uuid, Uuid)>,
    /// The database that several processes share it beside.
    pub shared_by: Option<Uuid>,
    /// The topic of outcomes.
    pub outcomes: TopicSpan,
    /// The topic of messages of platforms.
    pub intake: TopicSpan,
}

impl BusFacts {
    /// Nothing of it is anybody's: at most the record that its topics begin with where an earlier bus is
    /// lost.
    fn is_unused(&self) -> bool {
        let is_unused = |span: &TopicSpan| span.head == 0 || span.low > 0 && span.head == span.low + 1;
        is_unused(&self.outcomes) && is_unused(&self.intake)
    }
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairVerdict {
    /// They belong together.
    Fits,
    /// They are new, or from before there were pairs.
    New,
    /// The database does not know the id that its bus has.
    Known(Uuid),
    /// The database has had another bus, and this one is empty.
    BusIsEmpty,
    /// They do not belong together.
    Refused(Mismatch),
}

/// Why a database and a bus do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// The database is new, the bus is not.
    DatabaseIsEmpty,
    /// Each belongs to another.
    Anothers,
    /// The bus has no id and is not empty: it is from before the database got one, or another program's.
    BusWithoutId,
}

/// Whether they belong together.
pub fn judge(database: &DatabaseFacts, bus: &BusFacts) -> PairVerdict {
    match (database.pair, bus.pair) {
        (Some(known), Some((pair, _))) if known == pair => PairVerdict::Fits,
        // An empty one was about to be taken when the process ended.
        (Some(_), Some((_, house))) if house == database.house && bus.is_unused() => PairVerdict::BusIsEmpty,
        (Some(_), Some(_)) => PairVerdict::Refused(Mismatch::Anothers),
        (Some(_), None) if bus.is_unused() => PairVerdict::BusIsEmpty,
        (Some(_), None) => PairVerdict::Refused(Mismatch::BusWithoutId),
        (None, Some((pair, house))) if house == database.house => PairVerdict::Known(pair),
        (None, Some(_)) if database.has_worked => PairVerdict::Refused(Mismatch::Anothers),
        (None, Some(_)) => PairVerdict::Refused(Mismatch::DatabaseIsEmpty),
        (None, None) => without_ids(database, bus),
    }
}

/// Both are new, or from before there were pairs.
fn without_ids(database: &DatabaseFacts, bus: &BusFacts) -> PairVerdict {
    match bus.shared_by {
        Some(house) if house == database.house => PairVerdict::New,
        Some(_) if database.has_worked => PairVerdict::Refused(Mismatch::Anothers),
        Some(_) => PairVerdict::Refused(Mismatch::DatabaseIsEmpty),
        None if !database.has_worked && !bus.is_unused() => PairVerdict::Refused(Mismatch::DatabaseIsEmpty),
        None if database.folded_to > 0 && bus.outcomes.head == 0 => PairVerdict::BusIsEmpty,
        None if database.intake_to > 0 && bus.intake.head == 0 => PairVerdict::BusIsEmpty,
        None => PairVerdict::New,
    }
}

/// Words for a database beside an empty bus.
pub fn empty_bus(names: &PairNames, database: &DatabaseFacts) -> String {
    let PairNames { database: store, bus, .. } = names;
    let pair = database.pair.map(|pair| format!(" (pair {pair})")).unwrap_or_default();
    format!(
        "the bus {bus} is empty, and the database {store} has worked with another one{pair}. The bus was removed, or a copy \
         was put back that has the database alone, or [bus] url or --data names the wrong place. Put back the bus that was \
         copied together with this database, or correct the place. If the bus is lost: `campanile serve --without-bus` takes \
         the empty one and plans again what is not settled; who was being sent to when it was lost may get a message twice"
    )
}

/// Words for a bus that ends before the database's position in it.
pub fn older_bus(names: &PairNames, topic: &str, position: u64, head: u64) -> String {
    let PairNames { database, bus, another_bus } = names;
    format!(
        "the bus {bus} is older than the database {database}, which has read its topic {topic} up to {position}, where it ends \
         at {head}: an older copy of the bus was put back, and would send again what was sent since. Put back the bus that was \
         copied together with this database; or, if it is lost, {another_bus} and start once with --without-bus"
    )
}

/// Words for two that do not belong together.
pub fn refusal(why: Mismatch, names: &PairNames, database: &DatabaseFacts, bus: &BusFacts) -> String {
    let PairNames { database: store, bus: place, another_bus } = names;
    let shown = |id: Option<Uuid>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
    let (its, theirs) = (shown(database.pair), shown(bus.pair.map(|(pair, _)| pair)));
    match why {
        Mismatch::DatabaseIsEmpty => format!(
            "the database {store} is new, and the bus {place} belongs to another one (pair {theirs}): the database was removed, \
             or a copy was put back that has the bus alone, or [store] url or --data names the wrong place. Put back the \
             database that was copied together with this bus, or correct the place. To begin anew with neither, {another_bus}"
        ),
        Mismatch::Anothers => format!(
            "the database {store} (pair {its}) and the bus {place} (pair {theirs}) belong to different installations, or to \
             copies from before and after a bus was lost: [store] url, [bus] url or --data names the wrong place, or one of \
             them was put back without the other. Correct the place, or put back both from one copy. If the database's own \
             bus is lost, {another_bus} and start once with --without-bus"
        ),
        Mismatch::BusWithoutId => format!(
            "the bus {place} is not the one of the database {store} (pair {its}): it has no id of a pair, so it is of an older \
             copy, or its topic \"pair\" was removed. Put back database and bus from one copy. If the database's own bus is \
             lost, {another_bus} and start once with --without-bus"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUSE: Uuid = Uuid::from_u128(1);
    const OTHER: Uuid = Uuid::from_u128(2);
    const PAIR: Uuid = Uuid::from_u128(3);
    const PAIR_2: Uuid = Uuid::from_u128(4);

    fn database(pair: Option<Uuid>, folded_to: u64) -> DatabaseFacts {
        DatabaseFacts { house: HOUSE, pair, folded_to, intake_to: 0, has_worked: folded_to > 0 }
    }

    fn bus(pair: Option<(Uuid, Uuid)>, head: u64) -> BusFacts {
        BusFacts { pair, outcomes: TopicSpan { low: 0, head }, ..BusFacts::default() }
    }

    type Case = (&'static str, DatabaseFacts, BusFacts, PairVerdict);

    fn cases() -> Vec<Case> {
        [cases_of_own(), cases_of_others()].concat()
    }

    fn cases_of_own() -> Vec<Case> {
        use PairVerdict::{BusIsEmpty, Fits, New};
        let begun = TopicSpan { low: 2_000_000, head: 2_000_001 };
        vec![
            ("both new", database(None, 0), bus(None, 0), New),
            ("both from before there were pairs", database(None, 9), bus(None, 9), New),
            ("a pair", database(Some(PAIR), 9), bus(Some((PAIR, HOUSE)), 12), Fits),
            ("a pair that has never sent", database(Some(PAIR), 0), bus(Some((PAIR, HOUSE)), 0), Fits),
            ("the bus was removed", database(Some(PAIR), 9), bus(None, 0), BusIsEmpty),
            ("the same before anything was sent", database(Some(PAIR), 0), bus(None, 0), BusIsEmpty),
            ("the bus of a database from before was removed", database(None, 9), bus(None, 0), BusIsEmpty),
            (
                "an empty bus was half taken",
                database(Some(PAIR), 9),
                BusFacts {
                    pair: Some((PAIR_2, HOUSE)),
                    outcomes: begun,
                    intake: begun,
                    ..BusFacts::default()
                },
                BusIsEmpty,
            ),
        ]
    }

    fn cases_of_others() -> Vec<Case> {
        use Mismatch::{Anothers, BusWithoutId, DatabaseIsEmpty};
        use PairVerdict::{Known, New, Refused};
        vec![
            (
                "the database was removed",
                database(None, 0),
                bus(Some((PAIR, OTHER)), 9),
                Refused(DatabaseIsEmpty),
            ),
            ("the same before there were pairs", database(None, 0), bus(None, 9), Refused(DatabaseIsEmpty)),
            ("another's bus", database(Some(PAIR), 9), bus(Some((PAIR_2, OTHER)), 9), Refused(Anothers)),
            (
                "another's empty bus",
                database(Some(PAIR), 9),
                bus(Some((PAIR_2, OTHER)), 0),
                Refused(Anothers),
            ),
            (
                "the bus from before it was lost",
                database(Some(PAIR_2), 9),
                bus(Some((PAIR, HOUSE)), 9),
                Refused(Anothers),
            ),
            (
                "another's bus beside an old database",
                database(None, 9),
                bus(Some((PAIR, OTHER)), 9),
                Refused(Anothers),
            ),
            ("a bus of an older copy", database(Some(PAIR), 9), bus(None, 5), Refused(BusWithoutId)),
            (
                "a bus of an older copy that was read to its end",
                database(Some(PAIR), 9),
                BusFacts { outcomes: TopicSpan { low: 5, head: 5 }, ..bus(None, 5) },
                Refused(BusWithoutId),
            ),
            ("a first start that was cut short", database(None, 0), bus(Some((PAIR, HOUSE)), 0), Known(PAIR)),
            ("a database of an older copy", database(None, 5), bus(Some((PAIR, HOUSE)), 9), Known(PAIR)),
            (
                "shared, from before",
                database(None, 9),
                BusFacts { shared_by: Some(HOUSE), ..bus(None, 9) },
                New,
            ),
            (
                "shared by others",
                database(None, 9),
                BusFacts { shared_by: Some(OTHER), ..bus(None, 9) },
                Refused(Anothers),
            ),
        ]
    }

    #[test]
    fn a_database_works_with_its_own_bus_alone() {
        for (what, database, bus, verdict) in cases() {
            assert_eq!(judge(&database, &bus), verdict, "{what}");
        }
    }

    #[test]
    fn each_refusal_names_both_and_what_to_do() {
        let names = PairNames {
            database: "data/campanile.db".to_owned(),
            bus: "data/bus".to_owned(),
            another_bus: "move data/bus away".to_owned(),
        };
        let (database, bus) = (database(Some(PAIR), 9), bus(Some((PAIR_2, OTHER)), 9));
        let all = [Mismatch::DatabaseIsEmpty, Mismatch::Anothers, Mismatch::BusWithoutId];
        let refusals = all.map(|why| refusal(why, &names, &database, &bus));
        let others = [empty_bus(&names, &database), older_bus(&names, "outcomes", 9, 5)];
        for text in refusals.iter().chain(&others) {
            assert!(text.contains("data/campanile.db") && text.contains("data/bus"), "{text}");
            assert!(
                text.contains("Put back") && text.contains("copied together") || text.contains("one copy"),
                "{text}"
            );
        }
        assert!(others.iter().all(|text| text.contains("--without-bus")), "{others:?}");
    }
}
