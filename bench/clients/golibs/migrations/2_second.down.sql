BEGIN;
DROP TRIGGER people_touch ON people;
DROP FUNCTION touch();
ALTER TABLE people DROP COLUMN mood;
DROP TYPE mood;
COMMIT;
