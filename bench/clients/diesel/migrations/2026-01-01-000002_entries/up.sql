CREATE TABLE diesel_entries (
    id BIGSERIAL PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES diesel_accounts (id) ON DELETE CASCADE,
    amount BIGINT NOT NULL,
    note BYTEA
);
