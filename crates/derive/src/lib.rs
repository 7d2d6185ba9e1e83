//! The derive for types that may live in a mapped segment.
