-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS gs_name ON gs_people (name);

-- +goose Down
DROP INDEX CONCURRENTLY gs_name;
