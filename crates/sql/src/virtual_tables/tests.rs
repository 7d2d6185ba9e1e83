//! Tests of the catalogue's tables.

/// PostgreSQL 15's columns, in its order.
const COLUMNS: [(&str, &str); 55] = [
    ("pg_am", "oid amname amhandler amtype"),
    ("pg_attrdef", "oid adrelid adnum adbin"),
    (
        "pg_attribute",
        "attrelid attname atttypid attstattarget attlen attnum attndims attcacheoff atttypmod attbyval \
         attalign attstorage attcompression attnotnull atthasdef atthasmissing attidentity attgenerated \
         attisdropped attislocal attinhcount attcollation attacl attoptions attfdwoptions attmissingval",
    ),
    (
        "pg_available_extensions",
        "name default_version installed_version comment",
    ),
    ("pg_auth_members", "roleid member grantor admin_option"),
    (
        "pg_cast",
        "oid castsource casttarget castfunc castcontext castmethod",
    ),
    (
        "pg_class",
        "oid relname relnamespace reltype reloftype relowner relam relfilenode reltablespace relpages \
         reltuples relallvisible reltoastrelid relhasindex relisshared relpersistence relkind relnatts \
         relchecks relhasrules relhastriggers relhassubclass relrowsecurity relforcerowsecurity \
         relispopulated relreplident relispartition relrewrite relfrozenxid relminmxid relacl reloptions \
         relpartbound",
    ),
    (
        "pg_collation",
        "oid collname collnamespace collowner collprovider collisdeterministic collencoding collcollate \
         collctype colliculocale collversion",
    ),
    (
        "pg_constraint",
        "oid conname connamespace contype condeferrable condeferred convalidated conrelid contypid \
         conindid conparentid confrelid confupdtype confdeltype confmatchtype conislocal coninhcount \
         connoinherit conkey confkey conpfeqop conppeqop conffeqop confdelsetcols conexclop conbin",
    ),
    (
        "pg_database",
        "oid datname datdba encoding datlocprovider datistemplate datallowconn datconnlimit datfrozenxid \
         datminmxid dattablespace datcollate datctype daticulocale datcollversion datacl",
    ),
    (
        "pg_depend",
        "classid objid objsubid refclassid refobjid refobjsubid deptype",
    ),
    (
        "pg_cursors",
        "name statement is_holdable is_binary is_scrollable creation_time",
    ),
    ("pg_description", "objoid classoid objsubid description"),
    ("pg_enum", "oid enumtypid enumsortorder enumlabel"),
    (
        "pg_extension",
        "oid extname extowner extnamespace extrelocatable extversion extconfig extcondition",
    ),
    (
        "pg_foreign_server",
        "oid srvname srvowner srvfdw srvtype srvversion srvacl srvoptions",
    ),
    ("pg_foreign_table", "ftrelid ftserver ftoptions"),
    ("pg_group", "groname grosysid grolist"),
    (
        "pg_index",
        "indexrelid indrelid indnatts indnkeyatts indisunique indnullsnotdistinct indisprimary \
         indisexclusion indimmediate indisclustered indisvalid indcheckxmin indisready indislive \
         indisreplident indkey indcollation indclass indoption indexprs indpred",
    ),
    (
        "pg_indexes",
        "schemaname tablename indexname tablespace indexdef",
    ),
    (
        "pg_inherits",
        "inhrelid inhparent inhseqno inhdetachpending",
    ),
    (
        "pg_language",
        "oid lanname lanowner lanispl lanpltrusted lanplcallfoid laninline lanvalidator lanacl",
    ),
    (
        "pg_matviews",
        "schemaname matviewname matviewowner tablespace hasindexes ispopulated definition",
    ),
    ("pg_namespace", "oid nspname nspowner nspacl"),
    (
        "pg_prepared_statements",
        "name statement prepare_time parameter_types from_sql generic_plans custom_plans",
    ),
    (
        "pg_opclass",
        "oid opcmethod opcname opcnamespace opcowner opcfamily opcintype opcdefault opckeytype",
    ),
    (
        "pg_policy",
        "oid polname polrelid polcmd polpermissive polroles polqual polwithcheck",
    ),
    (
        "pg_prepared_xacts",
        "transaction gid prepared owner database",
    ),
    (
        "pg_proc",
        "oid proname pronamespace proowner prolang procost prorows provariadic prosupport prokind \
         prosecdef proleakproof proisstrict proretset provolatile proparallel pronargs pronargdefaults \
         prorettype proargtypes proallargtypes proargmodes proargnames proargdefaults protrftypes prosrc \
         probin prosqlbody proconfig proacl",
    ),
    (
        "pg_publication",
        "oid pubname pubowner puballtables pubinsert pubupdate pubdelete pubtruncate pubviaroot",
    ),
    ("pg_publication_namespace", "oid pnpubid pnnspid"),
    ("pg_publication_rel", "oid prpubid prrelid prqual prattrs"),
    (
        "pg_range",
        "rngtypid rngsubtype rngmultitypid rngcollation rngsubopc rngcanonical rngsubdiff",
    ),
    (
        "pg_rewrite",
        "oid rulename ev_class ev_type ev_enabled is_instead ev_qual ev_action",
    ),
    (
        "pg_roles",
        "rolname rolsuper rolinherit rolcreaterole rolcreatedb rolcanlogin rolreplication rolconnlimit \
         rolpassword rolvaliduntil rolbypassrls rolconfig oid",
    ),
    (
        "pg_sequence",
        "seqrelid seqtypid seqstart seqincrement seqmax seqmin seqcache seqcycle",
    ),
    (
        "pg_sequences",
        "schemaname sequencename sequenceowner data_type start_value min_value max_value increment_by \
         cycle cache_size last_value",
    ),
    (
        "pg_settings",
        "name setting unit category short_desc extra_desc context vartype source min_val max_val \
         enumvals boot_val reset_val sourcefile sourceline pending_restart",
    ),
    ("pg_shdescription", "objoid classoid description"),
    (
        "pg_stat_activity",
        "datid datname pid leader_pid usesysid usename application_name client_addr client_hostname \
         client_port backend_start xact_start query_start state_change wait_event_type wait_event state \
         backend_xid backend_xmin query_id query backend_type",
    ),
    (
        "pg_statistic_ext",
        "oid stxrelid stxname stxnamespace stxowner stxstattarget stxkeys stxkind stxexprs",
    ),
    (
        "pg_tables",
        "schemaname tablename tableowner tablespace hasindexes hasrules hastriggers rowsecurity",
    ),
    ("pg_tablespace", "oid spcname spcowner spcacl spcoptions"),
    (
        "pg_trigger",
        "oid tgrelid tgparentid tgname tgfoid tgtype tgenabled tgisinternal tgconstrrelid tgconstrindid \
         tgconstraint tgdeferrable tginitdeferred tgnargs tgattr tgargs tgqual tgoldtable tgnewtable",
    ),
    (
        "pg_type",
        "oid typname typnamespace typowner typlen typbyval typtype typcategory typispreferred \
         typisdefined typdelim typrelid typsubscript typelem typarray typinput typoutput typreceive \
         typsend typmodin typmodout typanalyze typalign typstorage typnotnull typbasetype typtypmod \
         typndims typcollation typdefaultbin typdefault typacl",
    ),
    (
        "pg_stat_all_tables",
        "relid schemaname relname seq_scan seq_tup_read idx_scan idx_tup_fetch n_tup_ins n_tup_upd \
         n_tup_del n_tup_hot_upd n_live_tup n_dead_tup n_mod_since_analyze n_ins_since_vacuum last_vacuum \
         last_autovacuum last_analyze last_autoanalyze vacuum_count autovacuum_count analyze_count \
         autoanalyze_count",
    ),
    (
        "pg_stat_user_tables",
        "relid schemaname relname seq_scan seq_tup_read idx_scan idx_tup_fetch n_tup_ins n_tup_upd \
         n_tup_del n_tup_hot_upd n_live_tup n_dead_tup n_mod_since_analyze n_ins_since_vacuum last_vacuum \
         last_autovacuum last_analyze last_autoanalyze vacuum_count autovacuum_count analyze_count \
         autoanalyze_count",
    ),
    (
        "pg_statio_all_tables",
        "relid schemaname relname heap_blks_read heap_blks_hit idx_blks_read idx_blks_hit toast_blks_read \
         toast_blks_hit tidx_blks_read tidx_blks_hit",
    ),
    (
        "pg_statio_user_tables",
        "relid schemaname relname heap_blks_read heap_blks_hit idx_blks_read idx_blks_hit toast_blks_read \
         toast_blks_hit tidx_blks_read tidx_blks_hit",
    ),
    (
        "pg_stat_all_indexes",
        "relid indexrelid schemaname relname indexrelname idx_scan idx_tup_read idx_tup_fetch",
    ),
    (
        "pg_stat_user_indexes",
        "relid indexrelid schemaname relname indexrelname idx_scan idx_tup_read idx_tup_fetch",
    ),
    (
        "pg_statio_all_indexes",
        "relid indexrelid schemaname relname indexrelname idx_blks_read idx_blks_hit",
    ),
    (
        "pg_statio_user_indexes",
        "relid indexrelid schemaname relname indexrelname idx_blks_read idx_blks_hit",
    ),
    ("pg_views", "schemaname viewname viewowner definition"),
    (
        "pg_locks",
        "locktype database relation page tuple virtualxid transactionid classid objid objsubid \
         virtualtransaction pid mode granted fastpath waitstart",
    ),
];

#[test]
fn tables_have_the_columns_of_postgresql() {
    let tables: Vec<_> = super::all().into_iter().collect();
    for (name, columns) in COLUMNS {
        let table = tables.iter().find(|table| table.name == name);
        let ours = table.expect(name).columns.iter().map(|(column, _)| *column);
        assert_eq!(ours.collect::<Vec<_>>().join(" "), columns, "{name}");
    }
    let others = tables.iter().filter(|table| {
        table.schema == "pg_catalog" && !COLUMNS.iter().any(|(name, _)| *name == table.name)
    });
    assert_eq!(others.count(), 0);
}

#[test]
fn tables_have_numbers_of_their_own() {
    let mut numbers = std::collections::HashMap::new();
    for table in super::all() {
        let other = numbers.insert(table.oid, table.name);
        assert_eq!(other, None, "{} has the same number", table.name);
    }
}
