//! Simulated queues against closed forms, and the model against arithmetic.

mod model;
mod queues;
