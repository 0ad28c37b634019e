//! Source of a solve: its audience made ready to be asked, and the people who are shown to the solver, from
//! the index in memory where it is current, else from SQL. On the calling thread.

use super::actor::store_error;
use super::opt_outs::same_number;
use super::told_before::ToldBefore;
use crate::api::{EngineError, OptOutRules, Parts, Problem};
use crate::directory::PeopleIndex;
use crate::solve::audience::To;
use crate::solve::{GROUP_DEPTH_MAX, GroupSet, Matcher, Solver};
use channels::legible;
use records::{AlertRequest, DecodeError, Group, Priority};
use std::sync::Arc;
use store::{OptOutSet, Store, StoreError};
use tokio::runtime::Handle;

/// Recipients looked up by id in one go.
const IDS_AT_ONCE: usize = 1_000;

/// Whom a request is for, with its entries parsed.
#[derive(Clone, Copy)]
pub(crate) struct AudienceOf<'a> {
    pub account: &'a str,
    pub request: &'a AlertRequest,
    pub wanted: &'a [To],
    pub unwanted: &'a [To],
}

/// What a solver is made of.
#[derive(Clone)]
pub(crate) struct SolveInputs {
    pub matcher: Arc<Matcher>,
    pub opted_out: Option<Arc<OptOutSet>>,
}

impl AudienceOf<'_> {
    /// Reads its groups and stops.
    pub(crate) fn inputs(
        &self,
        parts: &Parts,
        rules: &OptOutRules,
        runtime: &Handle,
    ) -> Result<SolveInputs, EngineError> {
        let mut groups = Vec::new();
        for to in self.wanted.iter().chain(self.unwanted) {
            if let To::Group(name, _) = to {
                groups.push(group_set(parts, self.account, name, runtime)?);
            }
        }
        let stops = opted_out(&*parts.store, rules, self.account, self.request);
        let opted_out = runtime.block_on(stops).map_err(store_error)?.map(Arc::new);
        let matcher = Arc::new(Matcher::new(self.request, self.wanted, self.unwanted, groups));
        Ok(SolveInputs { matcher, opted_out })
    }

    /// Shows a solver everybody whom it has to see.
    pub(crate) fn show(
        &self,
        parts: &Parts,
        told: &ToldBefore,
        solver: &mut Solver<'_>,
        runtime: &Handle,
    ) -> Result<(), EngineError> {
        if solver.needs_scan() {
            self.show_everybody(parts, solver, runtime)?;
        } else {
            self.show_named(parts, solver, runtime)?;
        }
        for (to, place) in self.wanted.iter().zip(0..) {
            if to.earlier().is_some() {
                told.show((parts, self.account), (to, place), solver, runtime)?;
            }
        }
        solver.finish();
        Ok(())
    }

    /// From the index; the first to read SQL through fills it.
    fn show_everybody(
        &self,
        parts: &Parts,
        solver: &mut Solver<'_>,
        runtime: &Handle,
    ) -> Result<(), EngineError> {
        let (store, account) = (&parts.store, self.account);
        let revision = || runtime.block_on(store.directory_revision(account)).map_err(store_error);
        let before = revision()?;
        if let Some(index) = parts.directory.people(account, before) {
            return solver.show_index(&index).map_err(damaged);
        }
        let mut filling = parts.directory.begin(account, before);
        let mut is_whole = true;
        match &mut filling {
            Some(filling) => store.scan_encoded_recipients(account, &mut |people, encoded| {
                filling.take(encoded);
                is_whole = solver.show(people);
                is_whole
            }),
            None => store.scan_recipients(account, &mut |people| solver.show(people)),
        }
        .map_err(store_error)?;
        if let Some(filling) = filling.filter(|_| is_whole) {
            filling.end(revision()?);
        }
        Ok(())
    }

    /// Only those who are named, by id or membership, in the order of their ids.
    fn show_named(
        &self,
        parts: &Parts,
        solver: &mut Solver<'_>,
        runtime: &Handle,
    ) -> Result<(), EngineError> {
        let (store, account) = (&parts.store, self.account);
        let mut ids: Vec<String> = solver.matcher().named_ids().iter().cloned().collect();
        let names = solver.matcher().group_names();
        if !names.is_empty() {
            let mut after = String::new();
            loop {
                let more = runtime
                    .block_on(store.members_after(account, &names, &after, IDS_AT_ONCE))
                    .map_err(store_error)?;
                let Some(last) = more.last() else { break };
                after.clone_from(last);
                ids.extend(more);
            }
        }
        ids.sort_unstable();
        ids.dedup();
        let revision = runtime.block_on(store.directory_revision(account)).map_err(store_error)?;
        let index = parts.directory.people(account, revision);
        for slice in ids.chunks(IDS_AT_ONCE) {
            let people = match &index {
                Some(index) => people_of(index, slice)?,
                None => runtime.block_on(store.recipients_by_ids(account, slice)).map_err(store_error)?,
            };
            if !solver.show(&people) {
                break;
            }
        }
        Ok(())
    }
}

/// Those of the ids that exist.
fn people_of(index: &PeopleIndex, ids: &[String]) -> Result<Vec<records::Recipient>, EngineError> {
    let found = ids.iter().filter_map(|id| index.person(id).transpose());
    found.collect::<Result<_, DecodeError>>().map_err(damaged)
}

fn damaged(error: DecodeError) -> EngineError {
    EngineError::Internal(format!("people in memory: {error}"))
}

/// Who of the account gets nothing of this alert; nothing: everybody does, since it is an emergency and the
/// config says so. A stop that was said to one sender holds for alerts that show it.
async fn opted_out(
    store: &dyn Store,
    rules: &OptOutRules,
    account: &str,
    request: &AlertRequest,
) -> Result<Option<OptOutSet>, StoreError> {
    if rules.emergencies_override && request.priority == Priority::Emergency {
        return Ok(None);
    }
    let set = store.opt_out_set(account).await?;
    let shows = |of: &str| match &request.sender {
        Some(sender) => same_number(of, sender),
        None => rules.senders.iter().any(|(mode, own)| *mode == request.mode && same_number(of, own)),
    };
    let set = set.in_one_form(&rules.numbers).with_those_said_to(shows, &rules.numbers);
    Ok(Some(set))
}

/// A group with all below it.
pub(crate) fn group_set(
    parts: &Parts,
    account: &str,
    name: &str,
    runtime: &Handle,
) -> Result<GroupSet, EngineError> {
    let mut set = GroupSet::default();
    set.name(name);
    let mut level = vec![name.to_owned()];
    for _ in 0..GROUP_DEPTH_MAX {
        let mut below = Vec::new();
        for name in level {
            match group_of(parts, account, &name, runtime)? {
                Some(group) => below.extend(set.add(&group)),
                None => set.name(&name),
            }
        }
        if below.is_empty() {
            return Ok(set);
        }
        level = below;
    }
    let reason = format!("group {name:?} nests deeper than {GROUP_DEPTH_MAX}");
    Err(EngineError::Unprocessable(vec![Problem { field: "audience".into(), reason }]))
}

/// A group by its name, or by the form of it in which an earlier version may have kept it.
pub(crate) fn group_of(
    parts: &Parts,
    account: &str,
    name: &str,
    runtime: &Handle,
) -> Result<Option<Group>, EngineError> {
    let find = |name: &str| runtime.block_on(parts.store.group(account, name)).map_err(store_error);
    let found = match (find(name)?, legible::decomposed(name)) {
        (None, Some(decomposed)) => find(&decomposed)?,
        (found, _) => found,
    };
    Ok(found.map(|(group, _)| group))
}
