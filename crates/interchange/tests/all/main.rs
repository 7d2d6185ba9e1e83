//! Files of every format: written and read again, made by other writers, and damaged.

mod columnar;
mod reading;
mod round_trip;
