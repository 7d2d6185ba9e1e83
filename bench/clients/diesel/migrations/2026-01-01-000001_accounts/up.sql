CREATE TABLE diesel_accounts (
    id SERIAL PRIMARY KEY,
    key UUID NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    name VARCHAR(80) NOT NULL,
    balance NUMERIC(12, 2) NOT NULL DEFAULT 0 CHECK (balance > -1000),
    tags TEXT[] NOT NULL DEFAULT '{}',
    meta JSONB,
    born DATE,
    updated_at TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE UNIQUE INDEX diesel_accounts_name ON diesel_accounts (name);
