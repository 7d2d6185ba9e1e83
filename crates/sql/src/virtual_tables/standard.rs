//! Tables of `information_schema` that are queries over `pg_catalog`.

use super::{Contents, VirtualTable};
use crate::types::SqlType::{self, Int4, Name, Text};

const fn standard(
    name: &'static str,
    oid: u32,
    columns: &'static [(&'static str, SqlType)],
    query: &'static str,
) -> VirtualTable {
    VirtualTable {
        schema: "information_schema",
        name,
        oid,
        columns,
        contents: Contents::Query(query),
    }
}

pub(super) const TABLES: &[VirtualTable] = &[
    standard(
        "tables",
        13_001,
        &[
            ("table_catalog", Name),
            ("table_schema", Name),
            ("table_name", Name),
            ("table_type", Text),
            ("self_referencing_column_name", Name),
            ("reference_generation", Text),
            ("user_defined_type_catalog", Name),
            ("user_defined_type_schema", Name),
            ("user_defined_type_name", Name),
            ("is_insertable_into", Text),
            ("is_typed", Text),
            ("commit_action", Text),
        ],
        "select current_database(), n.nspname, c.relname,
            case when c.relpersistence = 't' then 'LOCAL TEMPORARY' when c.relkind = 'r' then 'BASE TABLE'
                else 'VIEW' end,
            null, null, null, null, null, case c.relkind when 'r' then 'YES' else 'NO' end, 'NO',
            case when c.relpersistence = 't' then 'PRESERVE' end
        from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'v')",
    ),
    standard(
        "schemata",
        13_003,
        &[
            ("catalog_name", Name),
            ("schema_name", Name),
            ("schema_owner", Name),
            ("default_character_set_catalog", Name),
            ("default_character_set_schema", Name),
            ("default_character_set_name", Name),
            ("sql_path", Text),
        ],
        "select current_database(), nspname, pg_get_userbyid(nspowner), null, null, null, null from pg_catalog.pg_namespace",
    ),
    standard(
        "views",
        13_010,
        &[
            ("table_catalog", Name),
            ("table_schema", Name),
            ("table_name", Name),
            ("view_definition", Text),
            ("check_option", Text),
            ("is_updatable", Text),
            ("is_insertable_into", Text),
            ("is_trigger_updatable", Text),
            ("is_trigger_deletable", Text),
            ("is_trigger_insertable_into", Text),
        ],
        "select current_database(), schemaname, viewname, definition, 'NONE', 'NO', 'NO', 'NO', 'NO', 'NO' from pg_catalog.pg_views",
    ),
    standard(
        "table_constraints",
        13_011,
        &[
            ("constraint_catalog", Name),
            ("constraint_schema", Name),
            ("constraint_name", Name),
            ("table_catalog", Name),
            ("table_schema", Name),
            ("table_name", Name),
            ("constraint_type", Text),
            ("is_deferrable", Text),
            ("initially_deferred", Text),
            ("enforced", Text),
            ("nulls_distinct", Text),
        ],
        "select current_database(), n.nspname, k.conname, current_database(), n.nspname, c.relname,
            case k.contype when 'c' then 'CHECK' when 'f' then 'FOREIGN KEY' when 'p' then 'PRIMARY KEY'
                else 'UNIQUE' end,
            case when k.condeferrable then 'YES' else 'NO' end,
            case when k.condeferred then 'YES' else 'NO' end,
            'YES',
            case when k.contype = 'u' then case when i.indnullsnotdistinct then 'NO' else 'YES' end end
        from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            left join pg_catalog.pg_index i on i.indexrelid = k.conindid",
    ),
    standard(
        "key_column_usage",
        13_012,
        &[
            ("constraint_catalog", Name),
            ("constraint_schema", Name),
            ("constraint_name", Name),
            ("table_catalog", Name),
            ("table_schema", Name),
            ("table_name", Name),
            ("column_name", Name),
            ("ordinal_position", Int4),
            ("position_in_unique_constraint", Int4),
        ],
        // An index whose columns are in the order of the references is what they refer to.
        "select current_database(), n.nspname, k.conname, current_database(), n.nspname, c.relname, a.attname, k.place,
            case when k.contype = 'f' then k.place end
        from (select conname, contype, conrelid, conkey, generate_subscripts(conkey, 1) as place
                from pg_catalog.pg_constraint where contype in ('p', 'u', 'f')) k
            join pg_catalog.pg_class c on c.oid = k.conrelid
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[k.place]",
    ),
    standard(
        "constraint_column_usage",
        13_013,
        &[
            ("table_catalog", Name),
            ("table_schema", Name),
            ("table_name", Name),
            ("column_name", Name),
            ("constraint_catalog", Name),
            ("constraint_schema", Name),
            ("constraint_name", Name),
        ],
        "select current_database(), n.nspname, c.relname, a.attname, current_database(), n.nspname, k.conname
        from (select conname, case contype when 'f' then confrelid else conrelid end as relid,
                    unnest(case contype when 'f' then confkey else conkey end) as number
                from pg_catalog.pg_constraint) k
            join pg_catalog.pg_class c on c.oid = k.relid
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            join pg_catalog.pg_attribute a on a.attrelid = k.relid and a.attnum = k.number",
    ),
    standard(
        "referential_constraints",
        13_014,
        &[
            ("constraint_catalog", Name),
            ("constraint_schema", Name),
            ("constraint_name", Name),
            ("unique_constraint_catalog", Name),
            ("unique_constraint_schema", Name),
            ("unique_constraint_name", Name),
            ("match_option", Text),
            ("update_rule", Text),
            ("delete_rule", Text),
        ],
        "select current_database(), n.nspname, k.conname, current_database(), un.nspname, u.conname,
            case k.confmatchtype when 'f' then 'FULL' else 'NONE' end,
            case k.confupdtype when 'r' then 'RESTRICT' when 'c' then 'CASCADE' when 'n' then 'SET NULL'
                when 'd' then 'SET DEFAULT' else 'NO ACTION' end,
            case k.confdeltype when 'c' then 'CASCADE' when 'n' then 'SET NULL' when 'r' then 'RESTRICT'
                else 'NO ACTION' end
        from pg_catalog.pg_constraint k join pg_catalog.pg_namespace n on n.oid = k.connamespace
            left join pg_catalog.pg_constraint u on u.conindid = k.conindid and u.contype in ('p', 'u')
            left join pg_catalog.pg_namespace un on un.oid = u.connamespace
        where k.contype = 'f'",
    ),
    standard(
        "check_constraints",
        13_015,
        &[
            ("constraint_catalog", Name),
            ("constraint_schema", Name),
            ("constraint_name", Name),
            ("check_clause", Text),
        ],
        "select current_database(), n.nspname, k.conname, substring(k.conbin, 7)
        from pg_catalog.pg_constraint k join pg_catalog.pg_namespace n on n.oid = k.connamespace
        where k.contype = 'c'",
    ),
    standard(
        "sequences",
        13_016,
        &[
            ("sequence_catalog", Name),
            ("sequence_schema", Name),
            ("sequence_name", Name),
            ("data_type", Text),
            ("numeric_precision", Int4),
            ("numeric_precision_radix", Int4),
            ("numeric_scale", Int4),
            ("start_value", Text),
            ("minimum_value", Text),
            ("maximum_value", Text),
            ("increment", Text),
            ("cycle_option", Text),
        ],
        "select current_database(), n.nspname, c.relname, format_type(s.seqtypid, null),
            case s.seqtypid when 21 then 16 when 23 then 32 else 64 end, 2, 0, s.seqstart::text, s.seqmin::text,
            s.seqmax::text, s.seqincrement::text, case when s.seqcycle then 'YES' else 'NO' end
        from pg_catalog.pg_sequence s join pg_catalog.pg_class c on c.oid = s.seqrelid
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace",
    ),
];
