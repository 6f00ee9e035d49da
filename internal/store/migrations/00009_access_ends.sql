-- +goose Up
ALTER TABLE connections ADD COLUMN ends BIGINT NOT NULL DEFAULT 0; -- when the account has to be connected again; 0: not known

-- +goose Down
ALTER TABLE connections DROP COLUMN ends;
