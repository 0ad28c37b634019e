//! Plan: which routes, in what order, how much at once, who comes after whom. Pure: lists in, lists out.

mod accepting_routes;
mod chains;
mod classify;
mod cut;
mod forecast;
mod substitutes;

pub use accepting_routes::{AcceptingRoutes, NoRouteAccepts};
pub use chains::{Chains, DeviceState, Move};
pub use classify::{Classifier, NOWHERE, RouteCriteria, Tiers};
pub use cut::{Cut, ahead_units_max};
pub use forecast::{ForecastTable, TextGroup};
pub use substitutes::{SubstituteRoute, substitutes};
