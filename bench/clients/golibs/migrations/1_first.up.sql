CREATE TABLE people (id bigserial PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE INDEX people_lower ON people (lower(name));
INSERT INTO people (name) VALUES ('Ada');
