//! Mail: the way out over SMTP.

pub mod machine;
