//! Replaces recorded traces in a build without the feature `lab`: nothing is recorded, and a load that asks for it is
//! refused.

use crate::bank::Bank;
use crate::error::ClusterError;
use crate::places::Places;
use crate::setting::Setting;
use sardonyx_sharing::node::Observer;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Records nothing.
#[derive(Debug)]
pub(crate) struct Recorder;

fn refused() -> ClusterError {
    ClusterError::NeedsLab {
        what: "recording a trace",
    }
}

impl Recorder {
    pub fn new(_: Bank) -> Self {
        Recorder
    }

    /// A node need not report its transactions.
    pub fn observer(self: &Arc<Self>) -> Option<Arc<dyn Observer>> {
        None
    }

    /// Refuses to record.
    pub fn check(record: bool) -> Result<(), ClusterError> {
        match record {
            true => Err(refused()),
            false => Ok(()),
        }
    }

    pub fn record(&self, _: bool) {}

    pub fn write(&self, _: &Setting, _: &Path) -> Result<(), ClusterError> {
        Err(refused())
    }
}

/// Refuses to merge traces, which this build does not record.
pub(crate) fn merge(
    _: &Setting,
    _: &Places,
    _: &[usize],
    _: impl Write,
    _: &str,
) -> Result<u64, ClusterError> {
    Err(refused())
}
