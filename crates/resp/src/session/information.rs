//! Information about the server: `COMMAND`, `INFO`, `CONFIG`, `TIME`, and the like.

use super::Session;
use super::command_about::about;
use crate::command::Command;
use crate::command::line::Line;
use crate::command::words::is;
use crate::failure::Failure;
use crate::reply::Reply;
use crate::settings::Number;

/// The version of Redis whose commands these are.
pub(crate) const REDIS_VERSION: &str = "7.2.0";
/// The same as scripts find it: a byte for each number.
#[cfg(feature = "lua")]
pub(crate) const REDIS_VERSION_NUMBER: u32 = 0x0007_0200;

/// The answer to `TIME`.
pub(crate) fn time(now: i64) -> Reply {
    let (seconds, millis) = (now.div_euclid(1000), now.rem_euclid(1000));
    let text = |number: i64| number.to_string().into_bytes();
    Reply::bulks([text(seconds), text(millis * 1000)])
}

impl Session {
    pub(super) fn information(
        &mut self,
        command: &'static Command,
        line: &Line,
        now: i64,
    ) -> Result<Reply, Failure> {
        match command.name {
            "command" => about(line),
            "info" => Ok(Reply::Verbatim(sections(&self.info(), line))),
            "config" => self.config(line),
            "time" => Ok(time(now)),
            "lastsave" => Ok(Reply::Int(self.keyspace.last_checkpoint() / 1000)),
            "save" => {
                self.keyspace.begin_checkpoint()?;
                Ok(Reply::Ok)
            }
            "bgsave" if line.len() > 2 || line.len() == 2 && !is(line.part(1), "schedule") => {
                Err(Failure::Syntax)
            }
            "bgsave" => match self.keyspace.begin_checkpoint()? {
                true => Ok(Reply::Simple("Background saving started")),
                false => Err(Failure::Told("ERR Background save already in progress")),
            },
            "wait" => {
                crate::number::integer(line.part(1))?;
                match crate::number::integer(line.part(2))? {
                    ..0 => Err(Failure::Told("ERR timeout is negative")),
                    _ => Ok(Reply::Int(0)),
                }
            }
            "waitaof" => Ok(Reply::Array(vec![Reply::Int(1), Reply::Int(0)])),
            "debug" => Err(Failure::Told("ERR DEBUG command not allowed.")),
            _ => Err(command.wrong_arguments()),
        }
    }

    fn info(&self) -> String {
        let tables = self.keyspace.tables();
        let committed = tables.map_or(0, |tables| tables.statistics().committed);
        let replication = match self.keyspace.only_reads() {
            true => "role:slave\r\nmaster_link_status:up\r\nslave_read_only:1",
            false => "role:master",
        };
        let clients = self.keyspace.shared().clients.all();
        let waiting = clients.iter().filter(|client| client.is_waiting()).count();
        let counts = self.keyspace.counts().unwrap_or_default();
        let keyspace: String = counts
            .iter()
            .map(|counts| {
                let (number, keys, expires) = (counts.database, counts.keys, counts.expiring);
                format!("db{number}:keys={keys},expires={expires},avg_ttl=0\r\n")
            })
            .collect();
        let memory = crate::process::recent_memory();
        let most = self.keyspace.shared().settings.number(Number::Memory);
        let [system, own] = crate::process::processors();
        let statistics = &self.keyspace.shared().statistics;
        let [calls, errors] = statistics.totals();
        let trackers = self.keyspace.shared().clients.tracking();
        let [(keys, items), (prefixes, _)] = self.keyspace.tracked();
        format!(
            "# Server\r\nredis_version:{REDIS_VERSION}\r\nredis_mode:standalone\r\nos:Linux\r\narch_bits:64\r\n\
             server_name:sardonyx\r\nsardonyx_version:{}\r\nprocess_id:{}\r\n\r\n\
             # Clients\r\nconnected_clients:{}\r\nblocked_clients:{waiting}\r\n\
             tracking_clients:{trackers}\r\n\r\n\
             # Memory\r\nused_memory:{memory}\r\nused_memory_rss:{memory}\r\nmaxmemory:{most}\r\n\
             maxmemory_policy:noeviction\r\n\r\n\
             # Persistence\r\nloading:0\r\naof_enabled:1\r\naof_last_write_status:ok\r\nrdb_bgsave_in_progress:{}\r\n\
             rdb_last_save_time:{}\r\n\r\n# Stats\r\ntransactions_committed:{}\r\ntotal_commands_processed:{calls}\r\n\
             total_error_replies:{errors}\r\ntracking_total_keys:{keys}\r\ntracking_total_items:{items}\r\n\
             tracking_total_prefixes:{prefixes}\r\n\r\n# Replication\r\n{replication}\r\n\
             connected_slaves:0\r\nmaster_repl_offset:0\r\n\r\n# CPU\r\nused_cpu_sys:{system:.6}\r\nused_cpu_user:{own:.6}\r\n\r\n\
             # Commandstats\r\n{}\r\n# Errorstats\r\n{}\r\n# Cluster\r\ncluster_enabled:0\r\n\r\n# Keyspace\r\n{}",
            env!("CARGO_PKG_VERSION"),
            std::process::id(),
            clients.len(),
            u8::from(tables.is_some_and(|tables| tables.is_checkpointing())),
            self.keyspace.last_checkpoint() / 1000,
            committed,
            statistics.commands(),
            statistics.errors(),
            keyspace,
        )
    }
}

/// Sections that are left out unless they are asked for.
const ASKED_FOR: [&str; 1] = ["commandstats"];

/// The sections of `INFO` that a command names; the usual ones, if it names none.
fn sections(info: &str, line: &Line) -> String {
    let has = |name: &str| line.parts(1).any(|word| is(word, name));
    let is_all = has("all") || has("everything");
    let is_usual = line.len() == 1 || has("default");
    let wanted = |section: &&str| {
        let name = section.split(['#', '\r']).nth(1).unwrap_or_default();
        let name = name.trim().to_ascii_lowercase();
        is_all || has(&name) || is_usual && !ASKED_FOR.contains(&name.as_str())
    };
    let wanted = info.split("\r\n\r\n").filter(wanted);
    // Each line ends, also the last one.
    let ended = wanted.map(|section| format!("{}\r\n", section.trim_end()));
    ended.collect::<Vec<_>>().join("\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_says_the_sections_that_are_named() {
        let info = "# Server\r\na:1\r\n\r\n# Stats\r\nb:2\r\n\r\n# Keyspace\r\n";
        let of = |words: &[&[u8]]| sections(info, &Line::of(words));
        assert_eq!(of(&[b"info"]), info);
        assert_eq!(of(&[b"info", b"nothing", b"ALL"]), info);
        assert_eq!(of(&[b"info", b"stats"]), "# Stats\r\nb:2\r\n");
        assert_eq!(
            of(&[b"info", b"Keyspace", b"server"]),
            "# Server\r\na:1\r\n\r\n# Keyspace\r\n"
        );
        assert_eq!(of(&[b"info", b"nothing"]), "");
    }
}
