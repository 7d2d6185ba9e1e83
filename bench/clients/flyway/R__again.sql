CREATE OR REPLACE VIEW fw_count AS SELECT count(*) AS n FROM fw_people;
