//! Due times, rate limits and lag statistics: arithmetic on instants.
//!
//! Nothing here reads a clock, sleeps or owns a thread: every instant is handed in, every deadline handed
//! back.
//!
//! - [`Limiter`]: a route's rate limit, exact in every one-second window.
//! - [`Pacer`]: when the next burst of a paced sender may leave, by one of three [`PacingRule`]s.
//! - [`Gaps`]: gaps by chance between packets.
//! - [`Profile`]: rates over time, from one text form.
//! - [`sender_scaler`]: how many sender threads, and how each is to send.
//! - [`receiver_scaler`]: how a receiver takes packets in: buffers, joining, sockets.
//! - [`share`]: a route's rate over several processes, by shares that end.
//! - [`split`]: a rate in whole parts.
//! - [`Backoff`]: growing waits between reconnects, random number handed in.
//! - [`Aimd`]: the rate to use while the peer says that it is throttled, or is strained.
//! - [`Strain`]: whether it is, told from how late its answers come.
//! - [`Lag`]: mean, deviation and maximum of how late things were; [`Ewma`]: of late; [`Cusum`]: whether it
//!   has changed.

mod aimd;
mod backoff;
mod cusum;
mod due;
mod ewma;
mod gaps;
mod lag;
mod limiter;
mod pacer;
mod profile;
pub mod receiver_scaler;
pub mod sender_scaler;
pub mod share;
mod strain;
mod window;

pub use aimd::Aimd;
pub use backoff::Backoff;
pub use cusum::{Change, Cusum};
pub use ewma::Ewma;
pub use gaps::Gaps;
pub use lag::Lag;
pub use limiter::{Limiter, RATE_MAX, RATE_MIN, WINDOW_MARGIN, split};
pub use pacer::{
    BIT_RATE_MAX, BIT_RATE_MIN, BURST_MAX, DEBT, Interval, MSS_MAX, Pacer, PacingRule, THREADS_MAX,
};
pub use profile::{GRAIN, PROFILE_STEPS_MAX, PROFILE_TIME_MAX, Profile, ProfileError, parse_bit_rate};
pub use strain::Strain;
