create type sqlx_kind as enum ('asset', 'debt');
create table sqlx_accounts (
    id bigint generated always as identity primary key,
    key uuid not null unique default gen_random_uuid(),
    name text not null check (length(name) > 0),
    kind sqlx_kind not null default 'asset',
    balance numeric(12, 2) not null default 0,
    tags text[] not null default '{}',
    meta jsonb,
    born date,
    made timestamptz not null default now()
);
