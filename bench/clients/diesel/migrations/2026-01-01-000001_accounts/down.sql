DROP TABLE diesel_accounts;
