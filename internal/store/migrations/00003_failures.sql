-- +goose Up
-- The marks by which failures are counted and chosen.
CREATE INDEX journal_failures ON journal (server, tool, kind, origin, caller, org, seq) WHERE kind <> '';

-- +goose Down
DROP INDEX journal_failures;
