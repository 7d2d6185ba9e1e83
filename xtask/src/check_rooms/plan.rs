//! The plan of the crates: their rooms, and the floors of all crates, from the ground up.

use super::Rooms;

/// The most files that import each other in a cycle: a developer who changes one of them must read all.
pub(super) const CIRCLE_FILES_MAX: usize = 9;

/// Crates with a larger circle, and its files today. A number only falls: a circle that shrinks is stated anew, and a crate
/// with at most [`CIRCLE_FILES_MAX`] is left out.
pub(super) const LARGER_CIRCLES: &[(&str, usize)] = &[];

/// Crates whose rooms are declared.
pub(super) const CRATES: &[Rooms] = &[
    Rooms {
        sources: "crates/sql/src",
        rooms: &[
            (
                "types",
                &[
                    "error",
                    "hashing",
                    "position",
                    "lexer",
                    "changed_text",
                    "class",
                    "conditions",
                    "keywords",
                    "names",
                    "path",
                    "on_commit",
                    "access_methods",
                    "operator_classes",
                    "extensions",
                    "expression::trees",
                    "expression::labels",
                    "expression::shown",
                    "plan::figured",
                    "types",
                    "text",
                    "binary",
                    "values",
                    "blocking",
                    "kept",
                    "lock_modes",
                    "locking",
                    "claims",
                    "activity",
                    "advisory",
                    "waits",
                    "parse",
                    "column",
                    "copy::options",
                    "copy::binary",
                    "copy::fields",
                ],
            ),
            (
                "tables",
                &[
                    "begun",
                    "rows",
                    "scanned",
                    "memory",
                    "messages",
                    "source",
                    "write_target",
                    "define_target",
                    "node_target",
                    "store",
                    "followed",
                    "relation",
                    "schemas",
                    "search_path",
                    "sequence_names",
                    "table_names",
                    "rights",
                    "keyspace",
                    "listed",
                    "sequences",
                    "signals",
                    "idle_rows",
                    "views",
                    "settings",
                    "database",
                    "registered",
                    "underway",
                    "user_types",
                    "routines",
                ],
            ),
            (
                "expression",
                &[
                    "expression",
                    "aggregate",
                    "claiming",
                    "index_names",
                    "violations",
                ],
            ),
            ("catalogue", &["virtual_tables"]),
            ("plan", &["indexed", "plan"]),
            (
                "run",
                &[
                    "catalogue",
                    "checks",
                    "declared",
                    "defaults",
                    "opening",
                    "constraints",
                    "signalling",
                    "prepared",
                    "cursors",
                    "procedures",
                    "running",
                    "result",
                    "stream",
                    "explain",
                ],
            ),
            ("define", &["define"]),
            (
                "session",
                &[
                    "session",
                    "called",
                    "declarations",
                    "incoming",
                    "copy",
                    "maintenance",
                    "temporary",
                ],
            ),
        ],
    },
    Rooms {
        sources: "crates/sharing/src",
        rooms: &[
            ("protocol", &["protocol"]),
            ("shared", &["lock_table", "page_cache", "redo"]),
            ("node", &["node"]),
        ],
    },
    Rooms {
        sources: "crates/tls/src",
        rooms: &[
            ("files", &["explain", "files", "verify"]),
            ("connection", &["connection", "transport"]),
        ],
    },
    Rooms {
        sources: "crates/command/src",
        rooms: &[
            (
                "parts",
                &[
                    "checkpoints",
                    "directories",
                    "durable_at",
                    "ending",
                    "exit",
                    "output",
                ],
            ),
            ("program", &["completions", "help", "manual", "program"]),
        ],
    },
];

/// The crates of the workspace, by their floors.
pub(super) const FLOORS: &[&[&str]] = &[
    &["sardonyx-derive"],
    &["sardonyx-base"],
    &[
        "sardonyx-storage",
        "sardonyx-lock",
        "sardonyx-tls",
        "sardonyx-workload",
    ],
    &[
        "sardonyx-rows",
        "sardonyx-mapped",
        "sardonyx-remote",
        "sardonyx-results",
        "sardonyx-power",
    ],
    // Nodes, import and export know rows, not the store in main memory.
    &["sardonyx-table", "sardonyx-interchange", "sardonyx-sharing"],
    &["sardonyx-serial", "sardonyx-multilevel", "sardonyx-indexes"],
    &["sardonyx", "sardonyx-etcd", "sardonyx-simulation"],
    &["sardonyx-sql", "sardonyx-resp", "sardonyx-command"],
    &[
        "sardonyx-server",
        "sardonyx-cluster",
        "sardonyx-benchmark",
        "sardonyx-capi",
        "sardonyx-python",
    ],
    &["sardonyx-cli", "sardonyx-lab", "sardonyx-fuzz"],
    &["sardonyx-peers", "sardonyx-libfuzzer", "xtask"],
];
