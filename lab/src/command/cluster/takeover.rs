//! `cluster takeover`: the time until others have the pages of a killed node.

use super::load::LoadOptions;
use super::place::Temporary;
use super::show;
use sardonyx_cluster::command::options::SettingOptions;
use sardonyx_cluster::command::program;
use sardonyx_cluster::nodes::Cluster;
use sardonyx_cluster::takeover::take_over;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_results::units::count;
use std::io::Write;

/// Kill a node that has committed many transactions, and measure the time until others have its pages.
///
/// Nodes are started in a temporary directory and loaded; then the last one changes some pages, so that it owns them,
/// and is killed (SIGKILL); the first one changes them at once.
///
/// Example: sardonyx-lab cluster takeover --nodes 2 --transactions 200000
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    setting: SettingOptions,
    #[command(flatten)]
    load: LoadOptions,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let (setting, load) = (self.setting.setting()?, self.load.load()?);
        load.check(&setting)?;
        let place = Temporary::new();
        let mut cluster = Cluster::make(place.path(), &setting)?;
        cluster.up(&program()?, true)?;
        let found = take_over(&mut cluster, &load)?;
        let sums = cluster.sums()?;
        cluster.down()?;
        if output.is_json() {
            output.value(&found)?;
        } else {
            writeln!(
                output,
                "{}\n{}",
                sardonyx_cluster::command::title(&setting),
                show::load_line(&load)
            )?;
            writeln!(
                output,
                "node {} was killed after {} transactions; from the signal on, in ms:\n\
                 {:>9.3} until the system had ended its process\n\
                 {:>9.3} until all others knew\n\
                 {:>9.3} until node {} had changed the first page that it owned\n\
                 {:>9.3} until it had changed all {} of them",
                found.killed,
                count(found.transactions),
                found.ended_milliseconds,
                found.known_milliseconds,
                found.first_page_milliseconds,
                found.survivor,
                found.all_pages_milliseconds,
                found.pages,
            )?;
        }
        Ok(match sums.are_equal() {
            true => Exit::Done,
            false => Exit::Found,
        })
    }
}
