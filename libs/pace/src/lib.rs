//! Due times, rate limits and lag statistics: arithmetic on instants.
