//! Dispatch: endpoints that are ready, made into segments for a route and lane.

mod build;
mod wording;

pub use build::Builder;
pub use wording::Wording;
