//! Scripts: statements and their expected results, in text files. Blocks are separated by empty lines:
//!
//! ```text
//! statement ok | TAG | error CODE
//! SQL
//!
//! statement error CODE
//! SQL
//! ----
//! its message, DETAIL, HINT, and the names of what it is about
//!
//! query
//! SQL
//! ----
//! values of a row, between |
//!
//! session NAME        the statements behind it are that session's
//! copy                as statement, with the data behind ----
//! copy_out            as query, of COPY … TO STDOUT
//! reopen              the database is closed and opened again
//! ```
//!
//! A line that begins with `#` is a comment.

use crate::common::{Fresh, copy_in, lines, run, session};
use sardonyx_sql::{Complete, Database, Session, SqlError, TransactionStatus};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

struct Script<'t> {
    name: String,
    blocks: Vec<(usize, Vec<&'t str>)>,
}

fn blocks(text: &str) -> Vec<(usize, Vec<&str>)> {
    let mut blocks: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        match (line.trim().is_empty(), inside) {
            (true, _) => inside = false,
            (false, false) => {
                blocks.push((number + 1, vec![line]));
                inside = true;
            }
            (false, true) => {
                if let Some((_, lines)) = blocks.last_mut() {
                    lines.push(line);
                }
            }
        }
    }
    blocks
}

impl Script<'_> {
    fn run(&self) {
        self.run_on(Fresh::new(), run);
    }

    /// Each text is run by `run`.
    fn run_on(
        &self,
        mut fresh: Fresh,
        run: fn(&mut Session, &str) -> Result<Vec<Complete>, SqlError>,
    ) {
        let mut sessions: HashMap<String, Session> = HashMap::new();
        let mut current = "main".to_string();
        for (number, block) in &self.blocks {
            let place = format!("{}:{number}", self.name);
            let (head, body) = block.split_first().expect("a block has a line");
            let cut = body.iter().position(|line| *line == "----");
            let sql = body[..cut.unwrap_or(body.len())].join("\n");
            let expected = cut.map_or(&[][..], |cut| &body[cut + 1..]);
            let (word, rest) = head.split_once(' ').unwrap_or((head, ""));
            // Lines below would be skipped.
            let is_alone = body.is_empty() || !matches!(word, "session" | "reopen");
            assert!(
                is_alone,
                "{place}: an empty line is missing behind {head:?}"
            );
            if word == "session" {
                current = rest.to_string();
                continue;
            }
            if word == "reopen" {
                sessions.clear();
                fresh.reopen();
                continue;
            }
            let database = database_of(&fresh, &current);
            let entry = sessions.entry(current.clone());
            let here = entry.or_insert_with(|| session(&database));
            let result = match word {
                "copy" => copy_in(here, &sql, (expected.join("\n") + "\n").as_bytes())
                    .map(|one| vec![one]),
                _ => run(here, &sql),
            };
            match (word, result) {
                ("copy_out", Ok(done)) => {
                    let sent = done.last().and_then(|one| one.copy_out.as_ref());
                    let sent = sent.map_or(&[][..], |data| &data.0);
                    let sent = std::str::from_utf8(sent).expect("UTF-8");
                    let found: Vec<_> = sent.lines().collect();
                    assert_eq!(found, expected, "{place}: {sql}");
                }
                ("query", Ok(done)) => {
                    // A value may have several lines.
                    let found = done.last().map(lines).unwrap_or_default();
                    let found: Vec<&str> = found.iter().flat_map(|row| row.split('\n')).collect();
                    assert_eq!(found, expected, "{place}: {sql}");
                }
                ("statement" | "copy", result) => match (rest.strip_prefix("error "), result) {
                    (Some(code), Err(error)) => {
                        assert_eq!(error.code, code, "{place}: {sql}: {error}");
                        if cut.is_some() && word != "copy" {
                            assert_eq!(told(&error), expected, "{place}: {sql}");
                        }
                    }
                    (Some(code), Ok(_)) => panic!("{place}: {sql}: {code} is expected"),
                    (None, Err(error)) => panic!("{place}: {sql}: {} {error}", error.code),
                    (None, Ok(done)) => {
                        let tag = done.last().map(|one| one.tag.to_string());
                        if rest != "ok" {
                            assert_eq!(tag.as_deref(), Some(rest), "{place}: {sql}");
                        }
                    }
                },
                (_, Err(error)) => panic!("{place}: {sql}: {} {error}", error.code),
                (word, Ok(_)) => panic!("{place}: there is no block {word:?}"),
            }
        }
    }
}

/// Runs a text in a transaction, which runs aside if that is set.
fn run_begun(session: &mut Session, text: &str) -> Result<Vec<Complete>, SqlError> {
    let is_idle = session.status() == TransactionStatus::Idle;
    if !is_idle || text.to_lowercase().starts_with("begin") {
        return run(session, text);
    }
    run(session, "begin").expect("it begins");
    let done = run(session, text);
    let end = if done.is_ok() { "commit" } else { "rollback" };
    run(session, end)?;
    done
}

/// Blocks and their loops over rows are what they are in the stage.
#[test]
fn blocks_run_aside() {
    with_script("blocks.sql", |script| {
        let fresh = Fresh::new();
        fresh.database.set_aside_from(0);
        script.run_on(fresh, run_begun);
    });
}

/// A commit empties and drops temporary tables of transactions that run aside, as in the stage.
#[test]
fn temporary_tables_run_aside() {
    for name in ["temporary.sql", "tables_of_queries.sql"] {
        with_script(name, |script| {
            let fresh = Fresh::new();
            fresh.database.set_aside_from(0);
            script.run_on(fresh, run);
        });
    }
}

/// An error's fields, as a client gets them, line by line.
fn told(error: &SqlError) -> Vec<String> {
    let fields = [
        ("DETAIL", &error.detail),
        ("HINT", &error.hint),
        ("SCHEMA", &error.schema),
        ("TABLE", &error.table),
        ("COLUMN", &error.column),
        ("CONSTRAINT", &error.constraint),
    ];
    let fields = fields
        .iter()
        .filter_map(|(name, value)| Some(format!("{name}: {}", value.as_ref()?)));
    let fields = [error.message.clone()].into_iter().chain(fields);
    let lines = fields.flat_map(|field| field.lines().map(String::from).collect::<Vec<_>>());
    lines.collect()
}

/// The database of a session: of nodes the first session has one, and all others another.
fn database_of(fresh: &Fresh, _session: &str) -> Arc<Database> {
    #[cfg(feature = "nodes")]
    if let Some(nodes) = fresh.nodes.as_ref().filter(|_| _session != "main") {
        return nodes.other.clone();
    }
    fresh.database.clone()
}

fn run_file(name: &str) {
    with_script(name, |script| script.run());
}

fn with_script(name: &str, run: impl FnOnce(&Script<'_>)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/scripts")
        .join(name);
    let text = std::fs::read_to_string(&path).expect("the script is there");
    let script = Script {
        name: name.to_string(),
        blocks: blocks(&text),
    };
    assert!(!script.blocks.is_empty(), "{name} has blocks");
    run(&script);
}

/// Scripts whose statements nodes refuse, or answer otherwise.
#[cfg(feature = "nodes")]
const NOT_ON_NODES: &[&str] = &[
    // Types of columns change.
    "index_methods.sql",
    // Nodes do not count the rows of their tables, so joins have another order, and EXPLAIN another plan.
    "few_rows.sql",
    "joins.sql",
    // A transaction has more redo there than fits into the ring of nodes.
    "large_reads.sql",
    "batches.sql",
    // Sequences, serial and identity columns.
    "catalogue_tools.sql",
    "fields_of_sets.sql",
    "system_columns.sql",
    "functions_in_tables.sql",
    "pg_dump.sql",
    "changed_texts.sql",
    "whole_names.sql",
    "altered_sequences.sql",
    "statement_triggers.sql",
    "database_names.sql",
    "merge_sources.sql",
    "rights_by_statement.sql",
    // Nodes have no advisory locks.
    "advisory_locks.sql",
    // Nor claims of rows.
    "claims.sql",
    "sizes_of_tables.sql",
    "table_locks.sql",
    "blocks.sql",
    "comments.sql",
    "identities.sql",
    "identities_of_columns.sql",
    "open_definitions.sql",
    "information_schema.sql",
    "jdbc.sql",
    "kept_or_refused.sql",
    "nulls.sql",
    "psql.sql",
    "replays.sql",
    "sequences.sql",
    "schemas.sql",
    "session_parameters.sql",
    "set_functions.sql",
    "sqlalchemy.sql",
    "tables_of_queries.sql",
    "temporary.sql",
    "types_changed.sql",
    "unique_nulls.sql",
    "primary_keys_changed.sql",
    "row_types.sql",
    "dependencies.sql",
    "volatile.sql",
    "added_columns.sql",
    "any_operators.sql",
    "writing_parts.sql",
    "row_triggers.sql",
    // A column gets another type; schemas are dropped.
    "bits.sql",
    "function_paths.sql",
    "needed_types.sql",
    // Tables and sequences are read in the transaction that makes them, or renames them.
    "prepared_behind.sql",
    "read_sequences.sql",
    "functions_of_users.sql",
    // Unique keys that are checked later.
    "deferrable_keys.sql",
    // A primary key gets another type; temporary tables.
    "references_of_numbers.sql",
    "names_of_types.sql",
    "not_valid.sql",
    // A transaction that has only read has no snapshot there: another's commit ends it.
    "transactions.sql",
];

/// Every fourth of the same scripts on the tables of two nodes, with each session but the first on the second one.
#[cfg(feature = "nodes")]
fn a_quarter_on_two_nodes(first: usize) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let entries = std::fs::read_dir(directory).expect("there are scripts");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.into_string().expect("UTF-8"));
    let mut names: Vec<String> = names
        .filter(|name| !NOT_ON_NODES.contains(&&**name))
        .collect();
    names.sort_unstable();
    let mine: Vec<&String> = names.iter().skip(first).step_by(4).collect();
    let fails = |name: &&&String| {
        let run = || with_script(name, |script| script.run_on(Fresh::on_nodes(), run));
        std::panic::catch_unwind(run).is_err()
    };
    let failed: Vec<_> = mine.iter().filter(fails).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert!(mine.len() > 8, "{mine:?}");
}

#[cfg(feature = "nodes")]
#[test]
fn on_two_nodes_scripts_0_4_and_so_on() {
    a_quarter_on_two_nodes(0);
}

#[cfg(feature = "nodes")]
#[test]
fn on_two_nodes_scripts_1_5_and_so_on() {
    a_quarter_on_two_nodes(1);
}

#[cfg(feature = "nodes")]
#[test]
fn on_two_nodes_scripts_2_6_and_so_on() {
    a_quarter_on_two_nodes(2);
}

#[cfg(feature = "nodes")]
#[test]
fn on_two_nodes_scripts_3_7_and_so_on() {
    a_quarter_on_two_nodes(3);
}

macro_rules! scripts {
    ($($test:ident: $file:literal,)*) => {
        $(#[test]
        fn $test() {
            run_file($file);
        })*

        #[test]
        fn every_script_is_run() {
            let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
            let known = [$($file),*];
            for entry in std::fs::read_dir(directory).expect("the scripts are there") {
                let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
                assert!(known.contains(&name.as_str()), "{name} is run by no test");
            }
        }
    };
}

scripts! {
    function_paths: "function_paths.sql",
    prepared_behind: "prepared_behind.sql",
    needed_types: "needed_types.sql",
    read_sequences: "read_sequences.sql",
    batches: "batches.sql",
    claims: "claims.sql",
    sizes_of_tables: "sizes_of_tables.sql",
    table_locks: "table_locks.sql",
    recursions: "recursions.sql",
    rows_from: "rows_from.sql",
    asked_names: "asked_names.sql",
    with_writes: "with_writes.sql",
    database_names: "database_names.sql",
    merge: "merge.sql",
    named_arguments: "named_arguments.sql",
    unique_nulls: "unique_nulls.sql",
    asked_beside_rows: "asked_beside_rows.sql",
    numbers_of_transactions: "numbers_of_transactions.sql",
    rights_by_statement: "rights_by_statement.sql",
    merge_sources: "merge_sources.sql",
    any_operators: "any_operators.sql",
    added_columns: "added_columns.sql",
    adjacent_texts: "adjacent_texts.sql",
    set_from_queries: "set_from_queries.sql",
    dependencies: "dependencies.sql",
    names_of_constraints: "names_of_constraints.sql",
    row_types: "row_types.sql",
    nested_queries: "nested_queries.sql",
    primary_keys_changed: "primary_keys_changed.sql",
    hashes: "hashes.sql",
    writing_parts: "writing_parts.sql",
    rows: "rows.sql",
    rows_in_expressions: "rows_in_expressions.sql",
    templates: "templates.sql",
    ordered_sets: "ordered_sets.sql",
    grouping_sets: "grouping_sets.sql",
    frames: "frames.sql",
    ties: "ties.sql",
    random_operators: "random_operators.sql",
    random_selects: "random_selects.sql",
    random_forms: "random_forms.sql",
    random_further: "random_further.sql",
    random_more: "random_more.sql",
    random_values: "random_values.sql",
    expansions: "expansions.sql",
    formats: "formats.sql",
    explain_forms: "explain_forms.sql",
    json_paths: "json_paths.sql",
    json_rows: "json_rows.sql",
    more_functions: "more_functions.sql",
    object_names: "object_names.sql",
    prepared_list: "prepared_list.sql",
    variadic: "variadic.sql",
    infinities: "infinities.sql",
    non_finite_numerics: "non_finite_numerics.sql",
    pairs: "pairs.sql",
    date_order: "date_order.sql",
    matviews: "matviews.sql",
    schemas: "schemas.sql",
    tables_of_queries: "tables_of_queries.sql",
    temporary: "temporary.sql",
    checks: "checks.sql",
    constraints: "constraints.sql",
    deferred: "deferred.sql",
    deferrable_keys: "deferrable_keys.sql",
    frameworks: "frameworks.sql",
    array_slices: "array_slices.sql",
    changed_parts: "changed_parts.sql",
    changed_texts: "changed_texts.sql",
    relations_by_name: "relations_by_name.sql",
    whole_names: "whole_names.sql",
    hstore: "hstore.sql",
    networks: "networks.sql",
    ranges: "ranges.sql",
    text_search: "text_search.sql",
    trigrams: "trigrams.sql",
    collations: "collations.sql",
    collations_refused: "collations_refused.sql",
    long_names: "long_names.sql",
    intervals: "intervals.sql",
    interval_styles: "interval_styles.sql",
    jsonb: "jsonb.sql",
    records: "records.sql",
    told_apart: "told_apart.sql",
    limits: "limits.sql",
    nulls: "nulls.sql",
    regexes: "regexes.sql",
    set_functions: "set_functions.sql",
    zones: "zones.sql",
    zoned_times: "zoned_times.sql",
    not_valid: "not_valid.sql",
    triggers: "triggers.sql",
    references_of_numbers: "references_of_numbers.sql",
    names_of_types: "names_of_types.sql",
    dimensions: "dimensions.sql",
    identities: "identities.sql",
    identities_of_columns: "identities_of_columns.sql",
    kept_or_refused: "kept_or_refused.sql",
    statistics: "statistics.sql",
    swallowed: "swallowed.sql",
    functions_in_tables: "functions_in_tables.sql",
    system_columns: "system_columns.sql",
    wording: "wording.sql",
    operators: "operators.sql",
    catalogue: "catalogue.sql",
    catalogue_tables: "catalogue_tables.sql",
    catalogue_tools: "catalogue_tools.sql",
    pg_dump: "pg_dump.sql",
    catalogue_types: "catalogue_types.sql",
    maintenance: "maintenance.sql",
    locking: "locking.sql",
    date_texts: "date_texts.sql",
    encodings: "encodings.sql",
    domains: "domains.sql",
    enums: "enums.sql",
    enum_conditions: "enum_conditions.sql",
    composites: "composites.sql",
    composites_compared: "composites_compared.sql",
    composites_of_sessions: "composites_of_sessions.sql",
    condition_order: "condition_order.sql",
    fields_of_sets: "fields_of_sets.sql",
    inferred_indexes: "inferred_indexes.sql",
    types_again: "types_again.sql",
    interval_fields: "interval_fields.sql",
    on_update: "on_update.sql",
    open_definitions: "open_definitions.sql",
    kept_moments: "kept_moments.sql",
    session_zones: "session_zones.sql",
    comments: "comments.sql",
    expressions: "expressions.sql",
    few_rows: "few_rows.sql",
    floats: "floats.sql",
    generated_columns: "generated_columns.sql",
    index_methods: "index_methods.sql",
    searched_texts: "searched_texts.sql",
    indexed_expressions: "indexed_expressions.sql",
    types_changed: "types_changed.sql",
    information_schema: "information_schema.sql",
    information_schema_views: "information_schema_views.sql",
    functions: "functions.sql",
    bits: "bits.sql",
    functions_of_users: "functions_of_users.sql",
    rows_of_functions: "rows_of_functions.sql",
    statement_triggers: "statement_triggers.sql",
    row_triggers: "row_triggers.sql",
    aggregates: "aggregates.sql",
    altered_sequences: "altered_sequences.sql",
    altered_views: "altered_views.sql",
    arrays: "arrays.sql",
    advisory_locks: "advisory_locks.sql",
    blocks_of_do: "blocks.sql",
    characters: "characters.sql",
    conflicts: "conflicts.sql",
    json: "json.sql",
    numerics: "numerics.sql",
    values: "values.sql",
    volatile: "volatile.sql",
    unread_columns: "unread_columns.sql",
    dates: "dates.sql",
    selects: "selects.sql",
    semijoins: "semijoins.sql",
    sorts_and_joins: "sorts_and_joins.sql",
    definitions: "definitions.sql",
    transactions: "transactions.sql",
    views: "views.sql",
    sequences: "sequences.sql",
    copies: "copies.sql",
    session_parameters: "session_parameters.sql",
    set_null: "set_null.sql",
    prepared: "prepared.sql",
    replays: "replays.sql",
    pgbench: "pgbench.sql",
    access_paths: "access_paths.sql",
    lists: "lists.sql",
    precedence: "precedence.sql",
    procedures: "procedures.sql",
    joins: "joins.sql",
    large_reads: "large_reads.sql",
    subqueries: "subqueries.sql",
    recursion: "recursion.sql",
    recursive_views: "recursive_views.sql",
    joined_changes: "joined_changes.sql",
    windows: "windows.sql",
    psql: "psql.sql",
    jdbc: "jdbc.sql",
    sqlalchemy: "sqlalchemy.sql",
}
