//! Dispatch: endpoints that are ready, made into segments for a route and lane.

mod build;
mod device_texts;
mod short;
mod text_cache;
mod wording;

pub use build::Builder;
pub use short::ShortBuilder;
pub use text_cache::TextCache;
pub use wording::{BUILT_IN, Wording, without_values};
