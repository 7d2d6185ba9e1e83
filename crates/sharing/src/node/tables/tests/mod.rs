//! Tests of tables: beside a naive model, in threads of several nodes, in every order
//! of the world of nodes; processes that are killed; histories that are judged.

mod dropping;
pub mod family;
mod histories;
mod journals;
mod limits;
mod locks;
pub mod model;
pub mod place;
mod processes;
mod reads;
pub mod rows;
mod serializable;
mod verbs;
