//! Runs the comparison of tables with other engines, and prints the findings.

use clap::Parser;
use sardonyx_benchmark::experiment;
use sardonyx_peers::tables::Options;

#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    sardonyx_command::ending::watch()?;
    experiment::run(&arguments.options, arguments.json, &mut std::io::stdout())?;
    Ok(())
}
