//! The compared engines: their names, their opening in directories of their own, and their errors.

use crate::error::{ExperimentError, Failure};
use std::io;

/// An engine that takes part in a comparison.
pub trait Product {
    /// Its name, in its makers' spelling.
    fn name() -> &'static str
    where
        Self: Sized;

    /// The settings that matter for durability and speed, on one line.
    fn settings() -> &'static str
    where
        Self: Sized;
}

/// An engine that can be opened, by a function of type `O`.
#[derive(Clone, Copy, Debug)]
pub struct Engine<O> {
    /// See [`Product::name`].
    pub name: &'static str,
    /// See [`Product::settings`].
    pub settings: &'static str,
    /// Makes the database in a directory, or finds it there.
    pub open: O,
}

impl<O> Engine<O> {
    pub fn opened_by<P: Product>(open: O) -> Self {
        Engine {
            name: P::name(),
            settings: P::settings(),
            open,
        }
    }

    /// The error of an operation, such as `open the store`.
    pub fn failed(&self, operation: &'static str) -> impl Fn(Failure) -> ExperimentError + use<O> {
        let engine = self.name;
        move |source| ExperimentError::Engine {
            engine,
            operation,
            source,
        }
    }

    /// The error of creating or removing its directory.
    pub fn in_directory(&self) -> impl Fn(io::Error) -> ExperimentError + use<O> {
        let engine = self.name;
        move |source| ExperimentError::Directory { engine, source }
    }

    /// The error of contents that differ from the expected ones.
    pub fn wrong(
        &self,
        what: impl Into<String>,
        expected: impl ToString,
        found: impl ToString,
    ) -> ExperimentError {
        ExperimentError::WrongTree {
            engine: self.name,
            what: what.into(),
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }
}
