//! tests come with the first commit after the skeleton
