ALTER TABLE fw_people ADD COLUMN mood fw_mood DEFAULT 'sad';
CREATE VIEW fw_happy AS SELECT name FROM fw_people WHERE mood = 'happy';
