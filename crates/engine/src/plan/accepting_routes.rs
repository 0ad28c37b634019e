//! Table of routes that accept a message: asked by doors for every message, so it is a look-up and no scan of
//! routes.

use records::{Mode, Route};
use rustc_hash::FxHashMap;

/// The routes for short messages, by what they take. Immutable: a change of routes makes a new one.
#[derive(Default)]
pub struct AcceptingRoutes {
    routes: Vec<Route>,
    by_name: FxHashMap<String, usize>,
    /// By mode and prefix; routes without one stand under the empty prefix.
    by_prefix: [FxHashMap<String, Vec<usize>>; 2],
    /// Different lengths of prefixes, the empty one included.
    lengths: Vec<usize>,
}

/// Why nobody takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRouteAccepts {
    /// No route of the mode takes such an address, sender or account.
    NoRoute,
    /// There is no route of this name for short messages in this mode.
    UnknownRoute,
}

impl AcceptingRoutes {
    /// For these routes.
    pub fn new(routes: &[Route]) -> AcceptingRoutes {
        let mut takers = AcceptingRoutes::default();
        for route in routes.iter().filter(|route| route.channel == channels::SMS) {
            let place = takers.routes.len();
            takers.routes.push(route.clone());
            takers.by_name.insert(route.name.clone(), place);
            let table = &mut takers.by_prefix[route.mode as usize];
            let all = [String::new()];
            let prefixes = if route.prefixes.is_empty() { &all[..] } else { &route.prefixes };
            for prefix in prefixes {
                table.entry(prefix.clone()).or_default().push(place);
                takers.lengths.push(prefix.len());
            }
        }
        takers.lengths.sort_unstable();
        takers.lengths.dedup();
        takers
    }

    /// Says why not.
    pub fn look(
        &self,
        mode: Mode,
        to: &str,
        sender: &str,
        account: &str,
        route: Option<&str>,
    ) -> Result<(), NoRouteAccepts> {
        if let Some(name) = route {
            let known = self.by_name.get(name).map(|&place| &self.routes[place]);
            return match known.filter(|route| route.mode == mode) {
                None => Err(NoRouteAccepts::UnknownRoute),
                Some(route) if takes(route, sender, account) => Ok(()),
                Some(_) => Err(NoRouteAccepts::NoRoute),
            };
        }
        let table = &self.by_prefix[mode as usize];
        let places = self.lengths.iter().filter_map(|&length| table.get(to.get(..length)?)).flatten();
        let mut fitting = places.filter(|&&place| takes(&self.routes[place], sender, account));
        fitting.next().map(|_| ()).ok_or(NoRouteAccepts::NoRoute)
    }
}

/// Does it take this sender and this account?
pub fn takes(route: &Route, sender: &str, account: &str) -> bool {
    let fits = |list: &[String], what: &str| list.is_empty() || list.iter().any(|one| one == what);
    fits(&route.senders, sender) && fits(&route.accounts, account)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::route;

    #[test]
    fn a_message_is_taken_where_prefix_sender_account_mode_and_name_fit() {
        let takers = AcceptingRoutes::new(&[
            route("sweden", channels::SMS, |r| r.prefixes = vec!["+46".into(), "+4746".into()]),
            route("brand", channels::SMS, |r| {
                (r.prefixes, r.senders) = (vec!["+44".into()], vec!["BRAND".into()])
            }),
            route("own", channels::SMS, |r| {
                (r.prefixes, r.accounts) = (vec!["+45".into()], vec!["a".into()])
            }),
            route("exercise", channels::SMS, |r| r.mode = Mode::Drill),
            route("mail", channels::MAIL, |_| {}),
        ]);
        let (no, unknown) = (Err(NoRouteAccepts::NoRoute), Err(NoRouteAccepts::UnknownRoute));
        for (mode, to, sender, account, route, expected) in [
            (Mode::Live, "+46701", "x", "a", None, Ok(())),
            (Mode::Live, "+47461", "x", "a", None, Ok(())),
            (Mode::Live, "+471", "x", "a", None, no),
            (Mode::Live, "+4", "x", "a", None, no),
            (Mode::Live, "+å", "x", "a", None, no),
            (Mode::Live, "+44", "BRAND", "a", None, Ok(())),
            (Mode::Live, "+44", "other", "a", None, no),
            (Mode::Live, "+45", "x", "a", None, Ok(())),
            (Mode::Live, "+45", "x", "b", None, no),
            (Mode::Drill, "+1", "x", "b", None, Ok(())),
            (Mode::Live, "+1", "x", "b", Some("sweden"), Ok(())),
            (Mode::Live, "+1", "x", "b", Some("own"), no),
            (Mode::Live, "+1", "x", "b", Some("exercise"), unknown),
            (Mode::Live, "+1", "x", "b", Some("mail"), unknown),
            (Mode::Live, "+1", "x", "b", Some("none"), unknown),
        ] {
            assert_eq!(
                takers.look(mode, to, sender, account, route),
                expected,
                "{to} {sender} {account} {route:?}"
            );
        }
    }
}
