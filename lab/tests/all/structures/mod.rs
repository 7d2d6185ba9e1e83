//! The trees of the lab beside a model, under seeds, and with every byte damaged.

mod b_plus_tree;
mod cache_oblivious;
mod common;
mod damage;
