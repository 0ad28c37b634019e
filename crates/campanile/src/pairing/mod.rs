//! Pairing of a database and its bus: an id that both have, made at the first start of an empty pair. Neither
//! works with another's: segments and outcomes speak of the alerts of one database, and its position in the
//! outcomes is one of one bus.

mod lost_bus;
mod verdict;

use bus::{Bus, BusError, Topic};
use std::sync::Arc;
use store::{SharedStore, StoreError};
use uuid::Uuid;
use verdict::{BusFacts, DatabaseFacts, PairVerdict, TopicSpan};

/// The topic whose first record has the id of the pair, then the id of the database that it was made with.
const PAIR: &str = "pair";
const ID_OCTETS: usize = 16;
/// Records that a power cut may take from a bus that syncs later: so many are made up for.
const LOST_RECORDS_MAX: u64 = 100_000;
/// Records that are appended together where some are made up for.
const FILLED_AT_ONCE: u64 = 1_000;

/// What becomes of an empty bus beside a database that has had one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmptyBus {
    /// The start is refused: the bus that belongs to the database is somewhere else, or lost.
    #[default]
    Refused,
    /// It is taken (`serve --without-bus`): the old one is lost.
    Taken,
}

/// How the two are called in messages, without passwords.
#[derive(Debug, Clone)]
pub struct PairNames {
    /// The database.
    pub database: String,
    /// The bus.
    pub bus: String,
    /// What gives an empty bus.
    pub another_bus: String,
}

/// A database and a bus that were opened together.
pub struct Pairing<'a> {
    /// The database.
    pub store: &'a SharedStore,
    /// The bus.
    pub bus: &'a Arc<dyn Bus>,
    /// What they are called.
    pub names: &'a PairNames,
    /// What becomes of an empty bus.
    pub empty_bus: EmptyBus,
    /// A power cut takes nothing that the bus has confirmed.
    pub keeps_all: bool,
}

/// Gives a new pair its id, on the bus first: for who makes both and fills them before the first start.
///
/// # Errors
/// In words: one of them cannot be read or written, or the bus belongs to another database.
pub async fn write_new(store: &SharedStore, bus: &Arc<dyn Bus>) -> Result<Uuid, String> {
    let house = store.house().await.map_err(store_words)?;
    let octets: [u8; ID_OCTETS] =
        crate::keys::random(ID_OCTETS)?.try_into().map_err(|_| "an id needs 16 octets".to_owned())?;
    let record = records::with_form(&[octets, house.into_bytes()].concat());
    let topic = opened(bus, PAIR).await?;
    match topic.append_at(0, &[&record]).await {
        // Of several processes that start at once the first one's id holds for all.
        Ok(_) | Err(BusError::Moved { .. }) => {}
        Err(error) => return Err(bus_words(error)),
    }
    let (pair, of) = read_pair(&topic.fetch(0, 1, usize::MAX).await.map_err(bus_words)?)?
        .ok_or("[bus]: the topic \"pair\" has no record")?;
    if of != house {
        return Err(format!("[bus]: it belongs to another database ({of}) than [store] names ({house})"));
    }
    store.set_pair(pair).await.map_err(store_words)?;
    Ok(pair)
}

impl Pairing<'_> {
    /// Checks that the two belong together, and makes them a pair where they are new.
    ///
    /// # Errors
    /// In words, naming both, with what probably happened and what to do.
    pub async fn check(&self) -> Result<(), String> {
        let database = self.database_facts().await?;
        let bus = self.bus_facts().await?;
        let taken = self.empty_bus == EmptyBus::Taken;
        match verdict::judge(&database, &bus) {
            PairVerdict::Fits if taken => tracing::warn!(
                "--without-bus changes nothing: {} is the bus of {}. Leave the option away: it is for one start",
                self.names.bus,
                self.names.database
            ),
            PairVerdict::Fits => {}
            PairVerdict::New => drop(write_new(self.store, self.bus).await?),
            PairVerdict::Known(pair) => self.store.set_pair(pair).await.map_err(store_words)?,
            PairVerdict::BusIsEmpty if taken => return self.take_empty_bus(&database).await,
            PairVerdict::Refused(why) if taken => {
                return Err(verdict::refusal(why, self.names, &database, &bus)
                    + ". --without-bus takes an empty bus alone, and this one is not");
            }
            PairVerdict::BusIsEmpty => return Err(verdict::empty_bus(self.names, &database)),
            PairVerdict::Refused(why) => return Err(verdict::refusal(why, self.names, &database, &bus)),
        }
        for (topic, position, span) in [
            (records::OUTCOMES, database.folded_to, bus.outcomes),
            (records::INTAKE, database.intake_to, bus.intake),
        ] {
            if position > span.head {
                self.make_up(topic, position, span.head).await?;
            }
        }
        Ok(())
    }

    /// The database has read further than the bus goes. A power cut explains a little of that, where the bus
    /// syncs later: then the indexes that are missing are passed over, so that none is given out again.
    async fn make_up(&self, topic: &str, position: u64, head: u64) -> Result<(), String> {
        // A topic without any record was removed, or is of another bus.
        if self.keeps_all || head == 0 || position - head > LOST_RECORDS_MAX {
            return Err(verdict::older_bus(self.names, topic, position, head));
        }
        tracing::warn!(
            "{} has lost the last {} records of the topic {topic}, which {} had read: a power cut took them ([bus] fsync), or \
             an older copy was put back. What was under way then may be sent twice",
            self.names.bus,
            position - head,
            self.names.database
        );
        let opened = opened(self.bus, topic).await?;
        let nothing = records::encode_outcomes(&[]);
        let mut next = head;
        while next < position {
            let count = (position - next).min(FILLED_AT_ONCE);
            let batch: Vec<&[u8]> = (0..count).map(|_| &nothing[..]).collect();
            match opened.append_at(next, &batch).await {
                Ok(_) => next += count,
                // Another process does the same.
                Err(BusError::Moved { head, .. }) if head > next => next = head,
                Err(error) => return Err(bus_words(error)),
            }
        }
        Ok(())
    }

    async fn database_facts(&self) -> Result<DatabaseFacts, String> {
        let store = self.store;
        let (folded_to, intake_to) =
            (store.folded_to().await.map_err(store_words)?, store.intake_to().await.map_err(store_words)?);
        let has_worked = folded_to > 0
            || intake_to > 0
            || !store.unfinished_alerts().await.map_err(store_words)?.is_empty();
        Ok(DatabaseFacts {
            house: store.house().await.map_err(store_words)?,
            pair: store.pair().await.map_err(store_words)?,
            folded_to,
            intake_to,
            has_worked,
        })
    }

    async fn bus_facts(&self) -> Result<BusFacts, String> {
        let names = {
            let bus = self.bus.clone();
            crate::storage::aside(move || bus.topics("").map_err(bus_words)).await?
        };
        let found = async |name: &str| match names.iter().any(|found| found == name) {
            true => opened(self.bus, name).await.map(Some),
            false => Ok(None),
        };
        let first = async |name: &str| match found(name).await? {
            Some(topic) => topic.fetch(0, 1, usize::MAX).await.map_err(bus_words),
            None => Ok(Vec::new()),
        };
        let span = async |name: &str| -> Result<TopicSpan, String> {
            let Some(topic) = found(name).await? else { return Ok(TopicSpan::default()) };
            let head = topic.latest().await.map_err(bus_words)?;
            Ok(TopicSpan { low: topic.low(), head })
        };
        Ok(BusFacts {
            pair: read_pair(&first(PAIR).await?)?,
            shared_by: read_house(&first(crate::storage::HOUSE).await?),
            outcomes: span(records::OUTCOMES).await?,
            intake: span(records::INTAKE).await?,
        })
    }
}

/// Opens a topic on a thread that may wait for servers.
async fn opened(bus: &Arc<dyn Bus>, name: &str) -> Result<Arc<dyn Topic>, String> {
    let (bus, name) = (bus.clone(), name.to_owned());
    crate::storage::aside(move || bus.topic(&name).map_err(bus_words)).await
}

/// The pair's id and its database's, out of the first record of the topic.
fn read_pair(found: &[bus::Record]) -> Result<Option<(Uuid, Uuid)>, String> {
    let Some(record) = found.first() else { return Ok(None) };
    let octets = records::behind_form("record of the topic pair", &record.octets);
    let octets = octets.map_err(|error| format!("[bus]: {error}"))?;
    let ids = octets.split_first_chunk::<ID_OCTETS>().and_then(|(pair, rest)| {
        Some((Uuid::from_bytes(*pair), Uuid::from_bytes(*rest.first_chunk::<ID_OCTETS>()?)))
    });
    ids.map(Some).ok_or_else(|| {
        "[bus]: the topic \"pair\" is damaged: put back a copy of database and bus that were made together".to_owned()
    })
}

/// The database that a bus of several processes was made with, also before there were pairs.
fn read_house(found: &[bus::Record]) -> Option<Uuid> {
    let octets = records::behind_form("record of the topic house", &found.first()?.octets).ok()?;
    octets.first_chunk::<ID_OCTETS>().map(|id| Uuid::from_bytes(*id))
}

fn store_words(error: StoreError) -> String {
    format!("[store]: {error}")
}

fn bus_words(error: BusError) -> String {
    format!("[bus]: {error}")
}

#[cfg(test)]
mod tests;
