//! Tables of `pg_catalog` for unsupported objects: they have the columns that clients read, and no rows.

use super::Contents::Rows;
use super::{VirtualRows, VirtualTable};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::source::Source;
use crate::types::SqlType::{
    self, Bool, Int2Vector, Int4, Name, Oid, OidArray, OneChar, OneCharArray, Text, TextArray,
    Timestamptz,
};

fn none(_: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    Ok(Vec::new())
}

const fn empty(
    name: &'static str,
    oid: u32,
    columns: &'static [(&'static str, SqlType)],
) -> VirtualTable {
    VirtualTable {
        schema: "pg_catalog",
        name,
        oid,
        columns,
        contents: Rows(none),
    }
}

pub(super) const TABLES: &[VirtualTable] = &[
    empty(
        "pg_policy",
        3256,
        &[
            ("oid", Oid),
            ("polname", Name),
            ("polrelid", Oid),
            ("polcmd", OneChar),
            ("polpermissive", Bool),
            ("polroles", OidArray),
            ("polqual", Text),
            ("polwithcheck", Text),
        ],
    ),
    empty(
        "pg_prepared_xacts",
        12_021,
        &[
            ("transaction", Oid),
            ("gid", Text),
            ("prepared", Timestamptz),
            ("owner", Name),
            ("database", Name),
        ],
    ),
    empty(
        "pg_statistic_ext",
        3381,
        &[
            ("oid", Oid),
            ("stxrelid", Oid),
            ("stxname", Name),
            ("stxnamespace", Oid),
            ("stxowner", Oid),
            ("stxstattarget", Int4),
            ("stxkeys", Int2Vector),
            ("stxkind", OneCharArray),
            ("stxexprs", Text),
        ],
    ),
    empty(
        "pg_publication",
        6104,
        &[
            ("oid", Oid),
            ("pubname", Name),
            ("pubowner", Oid),
            ("puballtables", Bool),
            ("pubinsert", Bool),
            ("pubupdate", Bool),
            ("pubdelete", Bool),
            ("pubtruncate", Bool),
            ("pubviaroot", Bool),
        ],
    ),
    empty(
        "pg_publication_rel",
        6106,
        &[
            ("oid", Oid),
            ("prpubid", Oid),
            ("prrelid", Oid),
            ("prqual", Text),
            ("prattrs", Int2Vector),
        ],
    ),
    empty(
        "pg_publication_namespace",
        6237,
        &[("oid", Oid), ("pnpubid", Oid), ("pnnspid", Oid)],
    ),
    empty(
        "pg_inherits",
        2611,
        &[
            ("inhrelid", Oid),
            ("inhparent", Oid),
            ("inhseqno", Int4),
            ("inhdetachpending", Bool),
        ],
    ),
    empty(
        "pg_auth_members",
        1261,
        &[
            ("roleid", Oid),
            ("member", Oid),
            ("grantor", Oid),
            ("admin_option", Bool),
        ],
    ),
    empty(
        "pg_foreign_table",
        3118,
        &[
            ("ftrelid", Oid),
            ("ftserver", Oid),
            ("ftoptions", TextArray),
        ],
    ),
    empty(
        "pg_foreign_server",
        1417,
        &[
            ("oid", Oid),
            ("srvname", Name),
            ("srvowner", Oid),
            ("srvfdw", Oid),
            ("srvtype", Text),
            ("srvversion", Text),
            ("srvacl", TextArray),
            ("srvoptions", TextArray),
        ],
    ),
    empty(
        "pg_tablespace",
        1213,
        &[
            ("oid", Oid),
            ("spcname", Name),
            ("spcowner", Oid),
            ("spcacl", TextArray),
            ("spcoptions", TextArray),
        ],
    ),
    empty(
        "pg_group",
        12_012,
        &[("groname", Name), ("grosysid", Oid), ("grolist", OidArray)],
    ),
];
