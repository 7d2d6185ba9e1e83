//! `CONFIG`: the settings that clients ask for, and those that they may change.

use super::Session;
use crate::command::line::Line;
use crate::command::subcommands;
use crate::command::words::is;
use crate::failure::Failure;
use crate::pattern::matches;
use crate::reply::Reply;

impl Session {
    pub(super) fn config(&self, line: &Line) -> Result<Reply, Failure> {
        match line.part(1) {
            word if is(word, "get") => Ok(self.settings(line)),
            word if is(word, "set") => self.set(line),
            word if is(word, "help") => Ok(subcommands::help("config")),
            word if is(word, "resetstat") => {
                self.keyspace.shared().statistics.reset();
                Ok(Reply::Ok)
            }
            // There is no file to be written.
            _ => Ok(Reply::Ok),
        }
    }

    fn settings(&self, line: &Line) -> Reply {
        let wanted = |name: &str| {
            let is_it = |pattern: &[u8]| matches(&pattern.to_ascii_lowercase(), name.as_bytes());
            line.parts(2).any(is_it)
        };
        let shared = self.keyspace.shared();
        let found = shared.settings.all(&shared.slow).into_iter();
        let found = found.filter(|(name, _)| wanted(name));
        Reply::Map(
            found
                .map(|(name, value)| (Reply::Text(name), Reply::Bulk(value.into())))
                .collect(),
        )
    }

    /// Sets all of them, or none.
    fn set(&self, line: &Line) -> Result<Reply, Failure> {
        if !line.len().is_multiple_of(2) {
            return Err(Failure::Syntax);
        }
        let shared = self.keyspace.shared();
        let names: Vec<String> = (line.parts(2).step_by(2))
            .map(|name| String::from_utf8_lossy(name).to_ascii_lowercase())
            .collect();
        if let Some(unknown) = names.iter().position(|name| !shared.settings.has(name)) {
            let name = String::from_utf8_lossy(line.part(2 + 2 * unknown));
            return Err(Failure::Said(format!(
                "ERR Unknown option or number of arguments for CONFIG SET - '{name}'"
            )));
        }
        let wrong = |place: usize, why: &str| {
            let name = String::from_utf8_lossy(line.part(2 + 2 * place)).into_owned();
            Failure::Said(format!(
                "ERR CONFIG SET failed (possibly related to argument '{name}') - {why}"
            ))
        };
        let mut changes = Vec::with_capacity(names.len());
        for (place, name) in names.iter().enumerate() {
            if names[..place].contains(name) {
                return Err(wrong(place, "duplicate parameter"));
            }
            let value = String::from_utf8_lossy(line.part(3 + 2 * place));
            let change = shared.settings.change(name, &value);
            changes.push(change.map_err(|why| wrong(place, &why))?);
        }
        for change in changes {
            shared.settings.set(change, &shared.slow);
        }
        Ok(Reply::Ok)
    }
}
