//! CAP 1.2 without IO: a tolerant reader with a list of problems, a strict writer.
