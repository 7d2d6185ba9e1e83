drop table sqlx_entries;
