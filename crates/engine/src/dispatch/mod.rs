//! Dispatch: endpoints that are ready, made into segments for a route and lane.

mod build;
mod short;
mod wording;

pub use build::Builder;
pub use short::ShortBuilder;
pub use wording::Wording;
