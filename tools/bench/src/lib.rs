//! Load and measure: each scenario prints its table beside the published one, and draws it.
