//! Two machines on a virtual wire that cuts, delays, loses, repeats and breaks, from a seed.
