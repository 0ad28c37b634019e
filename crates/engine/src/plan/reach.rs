//! Reach of an alert: how many people are going to have it, as an interval where that is not known.

use super::alert_plan::{AlertPlan, PlanDevice};
use super::course::CourseRules;
use crate::forecast::Reach;

/// The chances of a device, at least and at most.
#[derive(Clone, Copy)]
struct Chances {
    low: f64,
    high: f64,
}

/// At least and at most so many people. A route that has never confirmed anything, or is down, and a device
/// that nobody verified may reach nobody; what a route confirmed of the last 30 days it confirms again.
pub fn reach(plan: &AlertPlan, rules: &CourseRules<'_>) -> Reach {
    let mut people = vec![Chances { low: 0.0, high: 0.0 }; plan.people.len()];
    let of_groups: Vec<Chances> = (0..plan.groups.len()).map(|group| of_group(plan, group, rules)).collect();
    for device in &plan.devices {
        let of_device = of_device(device, of_groups[device.group as usize]);
        for &person in plan.people_of(device) {
            let person = &mut people[person as usize];
            person.low = person.low.max(of_device.low);
            person.high = person.high.max(of_device.high);
        }
    }
    let sum = |of: fn(&Chances) -> f64| people.iter().map(of).sum::<f64>().round() as u64;
    Reach { low: sum(|one| one.low), high: sum(|one| one.high) }
}

fn of_device(device: &PlanDevice, of_group: Chances) -> Chances {
    if device.is_unverified { Chances { low: 0.0, ..of_group } } else { of_group }
}

/// By the routes that take a group's devices: the worst of them at least, the best at most.
fn of_group(plan: &AlertPlan, group: usize, rules: &CourseRules<'_>) -> Chances {
    let conditions = rules.conditions;
    let group = &plan.groups[group];
    let takers = match group.why_not() {
        None => group.takers(|place| conditions.routes[place].up, &rules.without),
        Some(_) => Vec::new(),
    };
    let mut of_all: Option<Chances> = None;
    for place in takers {
        let days = conditions.days.get(&conditions.classifier.routes()[place].name);
        let confirmed = days.and_then(|days| days.confirmed_part());
        let high = confirmed.unwrap_or(1.0);
        let low = confirmed.filter(|_| conditions.routes[place].up).unwrap_or(0.0);
        let before = of_all.unwrap_or(Chances { low, high });
        of_all = Some(Chances { low: before.low.min(low), high: before.high.max(high) });
    }
    of_all.unwrap_or(Chances { low: 0.0, high: 0.0 })
}
