//! `pg_stat_…` and `pg_statio_…`: the tables and indexes by name. Nothing is counted, so counts are null; but for the rows
//! that there are.

use super::{Contents, VirtualTable};
use crate::types::SqlType::{self, Int8, Name, Oid, Timestamptz};

const fn statistics(
    name: &'static str,
    oid: u32,
    columns: &'static [(&'static str, SqlType)],
    query: &'static str,
) -> VirtualTable {
    VirtualTable {
        schema: "pg_catalog",
        name,
        oid,
        columns,
        contents: Contents::Query(query),
    }
}

const TABLE_COLUMNS: &[(&str, SqlType)] = &[
    ("relid", Oid),
    ("schemaname", Name),
    ("relname", Name),
    ("seq_scan", Int8),
    ("seq_tup_read", Int8),
    ("idx_scan", Int8),
    ("idx_tup_fetch", Int8),
    ("n_tup_ins", Int8),
    ("n_tup_upd", Int8),
    ("n_tup_del", Int8),
    ("n_tup_hot_upd", Int8),
    ("n_live_tup", Int8),
    ("n_dead_tup", Int8),
    ("n_mod_since_analyze", Int8),
    ("n_ins_since_vacuum", Int8),
    ("last_vacuum", Timestamptz),
    ("last_autovacuum", Timestamptz),
    ("last_analyze", Timestamptz),
    ("last_autoanalyze", Timestamptz),
    ("vacuum_count", Int8),
    ("autovacuum_count", Int8),
    ("analyze_count", Int8),
    ("autoanalyze_count", Int8),
];

const TABLE_PAGES_COLUMNS: &[(&str, SqlType)] = &[
    ("relid", Oid),
    ("schemaname", Name),
    ("relname", Name),
    ("heap_blks_read", Int8),
    ("heap_blks_hit", Int8),
    ("idx_blks_read", Int8),
    ("idx_blks_hit", Int8),
    ("toast_blks_read", Int8),
    ("toast_blks_hit", Int8),
    ("tidx_blks_read", Int8),
    ("tidx_blks_hit", Int8),
];

const INDEX_COLUMNS: &[(&str, SqlType)] = &[
    ("relid", Oid),
    ("indexrelid", Oid),
    ("schemaname", Name),
    ("relname", Name),
    ("indexrelname", Name),
    ("idx_scan", Int8),
    ("idx_tup_read", Int8),
    ("idx_tup_fetch", Int8),
];

const INDEX_PAGES_COLUMNS: &[(&str, SqlType)] = &[
    ("relid", Oid),
    ("indexrelid", Oid),
    ("schemaname", Name),
    ("relname", Name),
    ("indexrelname", Name),
    ("idx_blks_read", Int8),
    ("idx_blks_hit", Int8),
];

pub(super) const TABLES: &[VirtualTable] = &[
    statistics(
        "pg_stat_all_tables",
        12_100,
        TABLE_COLUMNS,
        "select c.oid, n.nspname, c.relname, null, null, null, null, null, null, null, null, c.reltuples::int8, null, null, null, null, null, null, null, null, null, null, null
        from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'm')",
    ),
    statistics(
        "pg_stat_user_tables",
        12_101,
        TABLE_COLUMNS,
        "select c.oid, n.nspname, c.relname, null, null, null, null, null, null, null, null, c.reltuples::int8, null, null, null, null, null, null, null, null, null, null, null
        from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'm') and n.nspname not in ('pg_catalog', 'information_schema')",
    ),
    statistics(
        "pg_statio_all_tables",
        12_102,
        TABLE_PAGES_COLUMNS,
        "select c.oid, n.nspname, c.relname, null, null, null, null, null, null, null, null
        from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'm')",
    ),
    statistics(
        "pg_statio_user_tables",
        12_103,
        TABLE_PAGES_COLUMNS,
        "select c.oid, n.nspname, c.relname, null, null, null, null, null, null, null, null
        from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'm') and n.nspname not in ('pg_catalog', 'information_schema')",
    ),
    statistics(
        "pg_stat_all_indexes",
        12_104,
        INDEX_COLUMNS,
        "select c.oid, x.oid, n.nspname, c.relname, x.relname, null, null, null
        from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indrelid
            join pg_catalog.pg_class x on x.oid = i.indexrelid
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace",
    ),
    statistics(
        "pg_stat_user_indexes",
        12_105,
        INDEX_COLUMNS,
        "select c.oid, x.oid, n.nspname, c.relname, x.relname, null, null, null
        from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indrelid
            join pg_catalog.pg_class x on x.oid = i.indexrelid
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname not in ('pg_catalog', 'information_schema')",
    ),
    statistics(
        "pg_statio_all_indexes",
        12_106,
        INDEX_PAGES_COLUMNS,
        "select c.oid, x.oid, n.nspname, c.relname, x.relname, null, null
        from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indrelid
            join pg_catalog.pg_class x on x.oid = i.indexrelid
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace",
    ),
    statistics(
        "pg_statio_user_indexes",
        12_107,
        INDEX_PAGES_COLUMNS,
        "select c.oid, x.oid, n.nspname, c.relname, x.relname, null, null
        from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indrelid
            join pg_catalog.pg_class x on x.oid = i.indexrelid
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname not in ('pg_catalog', 'information_schema')",
    ),
];
