//! The trees of the lab compared with a model, under seeds, and with every byte damaged.

mod b_plus_tree;
mod cache_oblivious;
mod common;
mod damage;
