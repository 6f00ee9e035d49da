-- +goose Up
-- By which codes are counted.
CREATE INDEX journal_codes ON journal (server, code, kind, seq) WHERE kind <> '';

-- +goose Down
DROP INDEX journal_codes;
