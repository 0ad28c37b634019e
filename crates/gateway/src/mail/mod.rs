//! Mail: the way out over SMTP.

pub mod config;
pub mod encode;
pub mod machine;
pub mod tag;
