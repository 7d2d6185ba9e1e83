//! `standby`, which was replaced by `store serve` and `store follow`: it is refused by its name.

use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;

/// Refused: a standby is a store on another host and a copy that follows it.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The former arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<String>,
}

impl Arguments {
    /// Refuses.
    pub fn run(&self, _output: &mut Output) -> anyhow::Result<Exit> {
        let given = self.arguments.join(" ");
        Err(UsageError::Arguments(format!(
            "there is no `standby {given}` any more: on the other host, `sardonyx store serve DIRECTORY --listen ADDR` keeps \
             the log, and `sardonyx store follow tcp://ADDR COPY` or `sardonyx serve COPY --store tcp://ADDR` follows it \
             (docs/hosts.md)"
        ))
        .into())
    }
}
