DROP TABLE diesel_entries;
