//! Parameter files that come with the program.

use super::Parameters;
use super::read::{Layers, ParameterError};

/// A parameter file that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The value of `--preset`.
    pub name: &'static str,
    /// Its description, in a few words.
    pub what: &'static str,
    /// The file, commented. All but the GEM paper's hold only the differences from it.
    pub text: &'static str,
}

/// All presets; the first is the GEM paper's. The others are hardware of today, with their numbers'
/// sources.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "paper",
        what: "the GEM paper's hardware and debit-credit workload (Table 4.1)",
        text: include_str!("../../presets/paper.toml"),
    },
    Preset {
        name: "paper-trace",
        what: "the GEM paper's real-life workload (section 4.6), as a synthetic trace",
        text: include_str!("../../presets/paper-trace.toml"),
    },
    Preset {
        name: "paper-gem",
        what: "the GEM paper's hardware with messages, page transfers and a page cache in GEM",
        text: include_str!("../../presets/paper-gem.toml"),
    },
    Preset {
        name: "nvme-tcp",
        what: "64-core nodes, NVMe drives and messages by the kernel's TCP on 100 Gbit/s; loosely coupled",
        text: include_str!("../../presets/nvme-tcp.toml"),
    },
    Preset {
        name: "nvme-rdma",
        what: "64-core nodes, NVMe drives and messages by RDMA on 100 Gbit/s; loosely coupled",
        text: include_str!("../../presets/nvme-rdma.toml"),
    },
    Preset {
        name: "cxl",
        what: "as nvme-rdma, with the global lock table in CXL memory; closely coupled",
        text: include_str!("../../presets/cxl.toml"),
    },
    Preset {
        name: "cxl-persistent",
        what: "as cxl, with the log and BRANCH/TELLER in CXL memory that survives failures",
        text: include_str!("../../presets/cxl-persistent.toml"),
    },
    Preset {
        name: "cloud-block",
        what: "virtual machines with network block storage, 25 Gbit/s; loosely coupled",
        text: include_str!("../../presets/cloud-block.toml"),
    },
];

/// Returns `None` if no file has the name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// Its parameters.
    ///
    /// # Errors
    /// None for those in [`PRESETS`], which a test shows.
    pub fn parameters(&self) -> Result<Parameters, ParameterError> {
        Layers::of_preset(self)?.read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Configuration;

    #[test]
    fn the_papers_trace_is_that_of_its_figure() {
        let figure = Configuration::trace(1).parameters(&Parameters::paper());
        assert_eq!(find("paper-trace").unwrap().parameters(), Ok(figure));
    }
}
