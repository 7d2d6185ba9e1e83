create table sqlx_entries (
    id serial primary key,
    account bigint not null references sqlx_accounts on delete cascade,
    amount numeric(12, 2) not null
);
create index sqlx_entries_account on sqlx_entries (account) where amount <> 0;
