//! The parameters with an effect or with one value, by their names.

/// Parameters with their values at the beginning.
pub(super) static KNOWN: [(&str, &str); 53] = [
    ("application_name", ""),
    ("block_size", "8192"),
    ("bytea_output", "hex"),
    (CHECK_BODIES, "on"),
    ("client_encoding", "UTF8"),
    ("client_min_messages", "notice"),
    (DATE_STYLE, "ISO, MDY"),
    ("debug_assertions", "off"),
    ("default_table_access_method", "heap"),
    ("default_tablespace", ""),
    (SEARCH_CONFIG, "pg_catalog.english"),
    ("default_transaction_deferrable", "off"),
    (USUAL_ISOLATION, "serializable"),
    (READ_ONLY, "off"),
    ("escape_string_warning", "on"),
    ("extra_float_digits", "1"),
    (IDLE_IN_TRANSACTION, "0"),
    (IDLE, "0"),
    (FOLLOWS, "off"),
    ("integer_datetimes", "on"),
    (INTERVAL_STYLE, "postgres"),
    ("is_superuser", "on"),
    ("jit", "off"),
    ("lc_collate", "C"),
    ("lc_ctype", "C"),
    ("lc_messages", "C"),
    ("lc_monetary", "C"),
    ("lc_numeric", "C"),
    ("lc_time", "C"),
    ("lock_timeout", "0"),
    ("max_function_args", "100"),
    ("max_identifier_length", "63"),
    ("max_index_keys", "16"),
    // Parameters of the extension pg_trgm.
    ("pg_trgm.similarity_threshold", "0.3"),
    ("pg_trgm.strict_word_similarity_threshold", "0.5"),
    ("pg_trgm.word_similarity_threshold", "0.6"),
    (ROLE, "none"),
    ("row_security", "on"),
    (SEARCH_PATH, USUAL_PATH),
    ("segment_size", "1GB"),
    ("server_encoding", "UTF8"),
    ("server_version", "15.0"),
    ("server_version_num", "150000"),
    (AUTHORIZATION, ""),
    ("standard_conforming_strings", "on"),
    (STATEMENT_TIMEOUT, "0"),
    ("synchronize_seqscans", "on"),
    ("synchronous_commit", "on"),
    (TIME_ZONE, UTC),
    (ISOLATION, "serializable"),
    ("wal_block_size", "8192"),
    ("wal_segment_size", "16MB"),
    ("xmloption", "content"),
];

/// The configuration of text search of calls that name none.
pub(crate) const SEARCH_CONFIG: &str = "default_text_search_config";
/// The schemas in which unqualified names are looked up.
pub(super) const SEARCH_PATH: &str = "search_path";
pub(super) const USUAL_PATH: &str = "\"$user\", public";
/// The parameter without which the bodies of new functions may name objects that come later.
pub(super) const CHECK_BODIES: &str = "check_function_bodies";
/// The parameter by which transactions only read by default.
pub(super) const READ_ONLY: &str = "default_transaction_read_only";
/// True if another program has the database open, and this process follows it.
pub(super) const FOLLOWS: &str = "in_hot_standby";
/// The most time of a statement.
pub(super) const STATEMENT_TIMEOUT: &str = "statement_timeout";
/// The most time of a wait for a lock.
pub(super) const LOCK_TIMEOUT: &str = "lock_timeout";
/// The time for which a client may be idle in a transaction.
pub(super) const IDLE_IN_TRANSACTION: &str = "idle_in_transaction_session_timeout";
/// The same outside a transaction.
pub(super) const IDLE: &str = "idle_session_timeout";

/// The level of isolation that the transaction requested; without a request, and for the next ones, the usual level.
pub(super) const ISOLATION: &str = "transaction_isolation";
pub(super) const USUAL_ISOLATION: &str = "default_transaction_isolation";

/// The output form of dates, and the order in which their parts are read.
pub(super) const DATE_STYLE: &str = "DateStyle";
pub(super) const INTERVAL_STYLE: &str = "IntervalStyle";
/// The zone in which moments are read and shown.
pub(super) const TIME_ZONE: &str = "TimeZone";
pub(super) const UTC: &str = "UTC";

/// The name of the session's program.
pub(super) const APPLICATION: &str = "application_name";

/// The parameter with the session's user.
pub(super) const AUTHORIZATION: &str = "session_authorization";

/// The role that the session took: none, or its user's own.
pub(super) const ROLE: &str = "role";

/// Parameters that no statement sets.
pub(super) const FIXED: [&str; 16] = [
    FOLLOWS,
    // Sizes of PostgreSQL's files: tools compute with them.
    "block_size",
    "debug_assertions",
    "integer_datetimes",
    "is_superuser",
    "lc_collate",
    "lc_ctype",
    "max_function_args",
    "max_identifier_length",
    "max_index_keys",
    "segment_size",
    "server_encoding",
    "server_version",
    "server_version_num",
    "wal_block_size",
    "wal_segment_size",
];

/// Parameters whose changes are reported to clients.
pub(super) const REPORTED: [&str; 13] = [
    APPLICATION,
    "client_encoding",
    DATE_STYLE,
    READ_ONLY,
    FOLLOWS,
    "integer_datetimes",
    INTERVAL_STYLE,
    "is_superuser",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    TIME_ZONE,
];
