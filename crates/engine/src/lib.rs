//! The way of an alert: solve, plan, dispatch, record, report.
