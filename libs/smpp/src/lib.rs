//! SMPP 3.3, 3.4 and 5.0 without IO: PDUs and TLVs, text coding and splitting, the session machine with its window.
