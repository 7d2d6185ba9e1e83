//! The tag of a statement, as in the protocol. The client crate returns only its number of rows; its words follow from
//! the statement's.

use std::collections::HashMap;

/// Words between `CREATE` and the created object's kind.
const MODIFIERS: [&str; 9] = [
    "OR",
    "REPLACE",
    "GLOBAL",
    "LOCAL",
    "TEMP",
    "TEMPORARY",
    "UNLOGGED",
    "UNIQUE",
    "RECURSIVE",
];

/// Statements that `PREPARE` has named, with their words.
#[derive(Debug, Default)]
pub struct Named(HashMap<String, Vec<String>>);

impl Named {
    /// Notes a statement that was done.
    pub fn note(&mut self, words: &[String]) {
        match words {
            [first, name, rest @ ..] if first == "PREPARE" => {
                let body = rest.iter().position(|word| word == "AS");
                let body = body.and_then(|at| rest.get(at + 1..)).unwrap_or_default();
                self.0.insert(name.clone(), body.to_vec());
            }
            [first, .., last] if first == "DEALLOCATE" || first == "DISCARD" => match &**last {
                "ALL" => self.0.clear(),
                name => drop(self.0.remove(name)),
            },
            _ => {}
        }
    }

    /// The tag of a statement with these words and so many rows; `failed`: in a failed transaction.
    pub fn tag(&self, words: &[String], rows: u64, failed: bool) -> String {
        let word = |at: usize| words.get(at).map_or("", |word| &**word);
        match word(0) {
            "WITH" => {
                let verbs = ["INSERT", "UPDATE", "DELETE", "MERGE", "SELECT"];
                let verb = words.iter().position(|word| verbs.contains(&&**word));
                self.tag(
                    verb.and_then(|at| words.get(at..)).unwrap_or_default(),
                    rows,
                    failed,
                )
            }
            "EXECUTE" => match self.0.get(word(1)) {
                Some(words) => self.tag(words, rows, failed),
                None => "EXECUTE".to_string(),
            },
            "INSERT" => format!("INSERT 0 {rows}"),
            verb @ ("UPDATE" | "DELETE" | "MERGE" | "SELECT" | "COPY" | "FETCH" | "MOVE") => {
                format!("{verb} {rows}")
            }
            "START" => "START TRANSACTION".to_string(),
            "COMMIT" | "END" if failed => "ROLLBACK".to_string(),
            "END" => "COMMIT".to_string(),
            "ABORT" => "ROLLBACK".to_string(),
            "TRUNCATE" => "TRUNCATE TABLE".to_string(),
            "LOCK" => "LOCK TABLE".to_string(),
            verb @ ("CREATE" | "ALTER" | "DROP") => {
                let is_kind = |word: &&String| !MODIFIERS.contains(&&***word);
                let mut kinds = words.iter().skip(1).filter(is_kind);
                match kinds.next().map_or("", |kind| &**kind) {
                    "TABLE" if verb == "CREATE" && makes_of_rows(words) => format!("SELECT {rows}"),
                    kind @ ("MATERIALIZED" | "FOREIGN" | "EVENT") => {
                        format!("{verb} {kind} {}", kinds.next().map_or("", |kind| &**kind))
                    }
                    kind => format!("{verb} {kind}"),
                }
            }
            "DISCARD" => format!("DISCARD {}", word(1)),
            verb @ ("DEALLOCATE" | "CLOSE") => {
                let all = match words.last().is_some_and(|word| word == "ALL") {
                    true => " ALL",
                    false => "",
                };
                let what = if verb == "CLOSE" { " CURSOR" } else { "" };
                format!("{verb}{what}{all}")
            }
            other => other.to_string(),
        }
    }
}

/// Returns true if these are words of `CREATE TABLE … AS SELECT …`.
fn makes_of_rows(words: &[String]) -> bool {
    let sources = ["SELECT", "WITH", "VALUES", "TABLE", "EXECUTE"];
    let is_source = |pair: &[String]| pair[0] == "AS" && sources.contains(&&*pair[1]);
    words.windows(2).any(is_source) || words.last().is_some_and(|word| word == "AS")
}

/// Returns true if a statement with these words may return rows, so that it is worth asking for the types of their
/// columns.
pub fn may_give_rows(words: &[String]) -> bool {
    let returns = || words.iter().any(|word| word == "RETURNING");
    match words.first().map_or("", |word| &**word) {
        "INSERT" | "UPDATE" | "DELETE" | "MERGE" => returns(),
        "BEGIN" | "START" | "COMMIT" | "END" | "ABORT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE"
        | "SET" | "RESET" | "CREATE" | "ALTER" | "DROP" | "TRUNCATE" | "PREPARE" | "DEALLOCATE"
        | "DISCARD" | "COPY" => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::text::words;

    #[test]
    fn tags_are_postgresqls() {
        let mut named = Named::default();
        named.note(&words("prepare p (int) as insert into t values ($1)"));
        for (statement, tag) in [
            ("insert into t values (1)", "INSERT 0 2"),
            (
                "-- a comment\n/* and */ insert into t values (1)",
                "INSERT 0 2",
            ),
            (
                "with x as (select 1) insert into t select * from x",
                "INSERT 0 2",
            ),
            (
                "with x as (insert into t values (1)) delete from u",
                "DELETE 2",
            ),
            ("update t set a = 1", "UPDATE 2"),
            ("copy t from stdin", "COPY 2"),
            ("execute p(1)", "INSERT 0 2"),
            ("execute q", "EXECUTE"),
            ("start transaction", "START TRANSACTION"),
            ("end", "COMMIT"),
            ("abort", "ROLLBACK"),
            ("rollback to s", "ROLLBACK"),
            ("create table t (a int)", "CREATE TABLE"),
            ("create temp table if not exists t (a int)", "CREATE TABLE"),
            ("create table t as select 1", "SELECT 2"),
            ("create unique index i on t (a)", "CREATE INDEX"),
            (
                "create or replace procedure p() begin atomic end",
                "CREATE PROCEDURE",
            ),
            (
                "create materialized view v as select 1",
                "CREATE MATERIALIZED VIEW",
            ),
            ("alter table t add b int", "ALTER TABLE"),
            ("drop sequence if exists s", "DROP SEQUENCE"),
            ("truncate t", "TRUNCATE TABLE"),
            ("deallocate all", "DEALLOCATE ALL"),
            ("deallocate p", "DEALLOCATE"),
            ("discard plans", "DISCARD PLANS"),
            ("close all", "CLOSE CURSOR ALL"),
            ("set a = 1", "SET"),
            ("vacuum t", "VACUUM"),
        ] {
            assert_eq!(named.tag(&words(statement), 2, false), tag, "{statement}");
        }
        assert_eq!(named.tag(&words("commit"), 0, false), "COMMIT");
        assert_eq!(named.tag(&words("commit"), 0, true), "ROLLBACK");
        named.note(&words("deallocate p"));
        assert_eq!(named.tag(&words("execute p(1)"), 2, false), "EXECUTE");
    }

    #[test]
    fn what_may_give_rows() {
        for text in [
            "select 1",
            "-- x\nselect 1",
            "(select 1)",
            "insert into t values (1) returning a",
            "show a",
            "execute p",
        ] {
            assert!(may_give_rows(&words(text)), "{text}");
        }
        assert!(!may_give_rows(&words("insert into t values (1)")));
        assert!(!may_give_rows(&words("rollback")));
    }
}
