//! Over real sockets: the short cut, the other road, and the way from one to the other.
