//! Plan: which routes, in what order, how much at once, who comes after whom; and what would come of it.
//! Pure: lists in, lists out.

mod accepting_routes;
mod alert_plan;
mod assumptions;
mod causes;
mod chains;
mod classify;
mod conditions;
mod course;
mod cut;
mod fact;
mod forecast;
mod people_times;
mod reach;
mod replay;
mod route_days;
mod substitutes;
mod verdict;

pub use accepting_routes::{AcceptingRoutes, NoRouteAccepts};
pub use alert_plan::AlertPlan;
pub use causes::{Causes, causes};
pub use chains::{Chains, DeviceState, Move};
pub use classify::{Classifier, NOWHERE, RouteCriteria, Tiers};
pub use conditions::{Conditions, RouteNow, WaitingUnits};
pub use course::CourseRules;
pub use cut::{Cut, ahead_units_max};
pub use fact::{FactTable, RouteFact};
pub use forecast::{ForecastTable, TextGroup, forecast};
pub use people_times::rounded;
pub use replay::{AlertReplay, Replayed, ReplayedRoute, replay};
pub use route_days::{Downtime, RouteDays};
pub use substitutes::{SubstituteRoute, substitutes};
pub use verdict::{PlanVerdict, RaisedLimit, ReachTarget, Without, verdict};
