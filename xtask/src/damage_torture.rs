//! Damages the files of a database again and again, and has it told: by opening, by verifying, or by a
//! checksum of all rows that are there.

use clap::Args;
use sardonyx_lab::crashes::damage::torture;

/// Options of `torture-damage`.
#[derive(Args)]
pub struct DamageTorture {
    /// How many damages.
    #[arg(long, default_value_t = 5_000)]
    damages: u64,
    /// Decides everything.
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
