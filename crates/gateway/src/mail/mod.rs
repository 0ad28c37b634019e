//! Mail: the way out over SMTP.

pub mod encode;
pub mod machine;
pub mod tag;
