//! see the next commit
