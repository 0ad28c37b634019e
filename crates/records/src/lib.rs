//! The nouns that cross a floor, and nothing else.
