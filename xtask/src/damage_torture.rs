//! Damages the files of a database again and again, and checks that each damage is detected: by opening, by verifying,
//! or by a checksum of all rows.

use clap::Args;
use sardonyx_lab::crashes::damage::torture;

/// Options of `torture-damage`.
#[derive(Args)]
pub struct DamageTorture {
    /// The number of damages.
    #[arg(long, default_value_t = 5_000)]
    damages: u64,
    /// The seed of everything.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl DamageTorture {
    /// Runs it; ends with an error at the first damage that goes unnoticed.
    pub fn run(&self) -> anyhow::Result<()> {
        let tally = torture(self.seed, self.damages).map_err(anyhow::Error::msg)?;
        println!("{tally}");
        Ok(())
    }
}
