//! Ends of answers that were written, to be written again: behind its Session-Id an answer depends on few
//! values, and a client's requests nearly always get the same ones.

use super::answer::{Asked, Context};
use ledger::request::{Answer, ServiceAnswer};

/// A longer end is written anew each time.
const OCTETS_MAX: usize = 1_024;
/// One for each CC-Request-Type.
const TAILS: usize = 4;

/// What the end of an answer depends on, besides CC-Request-Number and who we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AnswerKey {
    request_type: u32,
    kind: Asked,
    result: u32,
    enough_credit: Option<bool>,
    /// Only a price is told.
    cost: i64,
}

impl AnswerKey {
    #[inline]
    fn of(context: &Context<'_>, answer: &Answer) -> AnswerKey {
        AnswerKey {
            request_type: context.request_type,
            kind: context.kind,
            result: answer.result,
            enough_credit: answer.enough_credit,
            cost: if context.kind == Asked::Price { answer.cost } else { 0 },
        }
    }
}

/// An end, and what it was written for.
#[derive(Debug)]
struct CachedAnswer {
    head: AnswerKey,
    services: Vec<ServiceAnswer>,
    octets: Vec<u8>,
}

/// The last ends that were written.
#[derive(Debug, Default)]
pub(super) struct AnswerCache([Option<CachedAnswer>; TAILS]);

/// Whether two services are told in the same words: what one cost is not told.
#[inline]
fn is_told_alike(one: &ServiceAnswer, other: &ServiceAnswer) -> bool {
    // Operators that look at all of it cost less than a branch for each.
    (one.granted.present == other.granted.present)
        & (one.granted.time_s == other.granted.time_s)
        & (one.granted.octets == other.granted.octets)
        & (one.granted.specific == other.granted.specific)
        & (one.granted.money == other.granted.money)
        & (one.rating_group == other.rating_group)
        & (one.service_id == other.service_id)
        & (one.result == other.result)
        & (one.validity_s == other.validity_s)
        & (one.is_final == other.is_final)
        & (one.terms == other.terms)
}

impl AnswerCache {
    /// The end of this answer but for CC-Request-Number, if it was written before.
    #[inline]
    pub(super) fn find(
        &self,
        context: &Context<'_>,
        answer: &Answer,
        services: &[ServiceAnswer],
    ) -> Option<&[u8]> {
        let tail = self.0[context.request_type as usize % TAILS].as_ref()?;
        let is_it = tail.head == AnswerKey::of(context, answer)
            && tail.services.len() == services.len()
            && tail.services.iter().zip(services).all(|(one, other)| is_told_alike(one, other));
        is_it.then_some(&tail.octets[..])
    }

    /// Keeps the end of an answer that was written.
    pub(super) fn keep(
        &mut self,
        context: &Context<'_>,
        answer: &Answer,
        services: &[ServiceAnswer],
        octets: &[u8],
    ) {
        if octets.len() > OCTETS_MAX {
            return;
        }
        let head = AnswerKey::of(context, answer);
        let tail = self.0[context.request_type as usize % TAILS].get_or_insert_with(|| CachedAnswer {
            head,
            services: Vec::new(),
            octets: Vec::new(),
        });
        tail.head = head;
        tail.services.clear();
        tail.services.extend_from_slice(services);
        tail.octets.clear();
        tail.octets.extend_from_slice(octets);
    }
}
