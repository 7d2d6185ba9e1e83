-- +goose Up
CREATE TABLE gs_people (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text, changed timestamptz);
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION gs_touch() RETURNS trigger AS $$
BEGIN
    NEW.changed = now();
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;
-- +goose StatementEnd
CREATE TRIGGER gs_touch BEFORE INSERT OR UPDATE ON gs_people FOR EACH ROW EXECUTE PROCEDURE gs_touch();
INSERT INTO gs_people (name) VALUES ('Ada');

-- +goose Down
DROP TABLE gs_people;
DROP FUNCTION gs_touch;
