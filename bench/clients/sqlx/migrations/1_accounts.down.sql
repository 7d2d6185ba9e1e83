drop table sqlx_accounts;
drop type sqlx_kind;
