//! Substitutes of a route: the routes that take its messages while it cannot be used.

use records::Route;

/// Another route that takes messages of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubstituteRoute {
    /// Its place among the routes.
    pub place: usize,
    /// It takes whatever the route takes; otherwise a part of it.
    pub takes_all: bool,
}

/// The substitutes of the route at a place, in the order in which they are preferred.
pub fn substitutes(routes: &[Route], of: usize) -> Vec<SubstituteRoute> {
    let Some(route) = routes.get(of) else { return Vec::new() };
    let mut found: Vec<SubstituteRoute> = routes
        .iter()
        .enumerate()
        .filter(|(place, other)| *place != of && other.channel == route.channel && other.mode == route.mode)
        .filter_map(|(place, other)| Some(SubstituteRoute { place, takes_all: takes(other, route)? }))
        .collect();
    found.sort_by_key(|one| (!one.takes_all, routes[one.place].priority, routes[one.place].cost, one.place));
    found
}

/// Whether a route takes all that another takes; nothing: it takes none of it.
fn takes(route: &Route, other: &Route) -> Option<bool> {
    let begins = |address: &String, prefix: &String| address.starts_with(prefix.as_str());
    let prefixes = overlap(&route.prefixes, &other.prefixes, begins)?;
    let senders = overlap(&route.senders, &other.senders, |a, b| a == b)?;
    let accounts = overlap(&route.accounts, &other.accounts, |a, b| a == b)?;
    Some(prefixes && senders && accounts)
}

/// Whether a limit lets everything through that another does; nothing: nothing of it. An empty limit lets
/// everything through. `is_within`: what the first stands for is a part of what the second stands for.
fn overlap(limit: &[String], other: &[String], is_within: impl Fn(&String, &String) -> bool) -> Option<bool> {
    if limit.is_empty() {
        return Some(true);
    }
    if other.is_empty() {
        return Some(false);
    }
    let is_any = other.iter().any(|one| limit.iter().any(|own| is_within(one, own) || is_within(own, one)));
    is_any.then(|| other.iter().all(|one| limit.iter().any(|own| is_within(one, own))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::route;
    use records::Mode;

    #[test]
    fn what_takes_all_of_a_route_goes_before_what_takes_a_part_and_others_are_none() {
        let routes = [
            route("sweden", channels::SMS, |r| r.prefixes = vec!["+46".into()]),
            route("mobile", channels::SMS, |r| r.prefixes = vec!["+4670".into(), "+1".into()]),
            route("dear", channels::SMS, |r| r.cost = 9),
            route("any", channels::SMS, |_| {}),
            route("norway", channels::SMS, |r| r.prefixes = vec!["+47".into()]),
            route("mail", channels::MAIL, |_| {}),
            route("drill", channels::SMS, |r| r.mode = Mode::Drill),
        ];
        let named = |of: usize| -> Vec<(&str, bool)> {
            let found = substitutes(&routes, of);
            found.iter().map(|one| (routes[one.place].name.as_str(), one.takes_all)).collect()
        };
        assert_eq!(named(0), [("any", true), ("dear", true), ("mobile", false)]);
        assert_eq!(named(3), [("dear", true), ("sweden", false), ("mobile", false), ("norway", false)]);
        assert_eq!(named(5), []);
        assert_eq!(named(7), [], "there is no such route");
    }

    #[test]
    fn a_route_limited_to_senders_or_accounts_takes_those_alone() {
        let list = |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
        for (own, other, expected) in [
            (&[][..], &["A"][..], Some(true)),
            (&["A"], &[], Some(false)),
            (&["A", "B"], &["A"], Some(true)),
            (&["A"], &["A", "B"], Some(false)),
            (&["A"], &["B"], None),
        ] {
            let senders = |words: &[&str]| route("r", channels::SMS, |r| r.senders = list(words));
            let accounts = |words: &[&str]| route("r", channels::SMS, |r| r.accounts = list(words));
            assert_eq!(takes(&senders(own), &senders(other)), expected, "{own:?} of {other:?}");
            assert_eq!(takes(&accounts(own), &accounts(other)), expected, "{own:?} of {other:?}");
        }
    }
}
