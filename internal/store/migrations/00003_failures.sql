-- +goose Up
-- The marks by which failures are counted and chosen, and those of all others by time.
CREATE INDEX journal_failures ON journal (server, tool, kind, origin, caller, org, seq) WHERE kind <> '';
CREATE INDEX journal_failures_seq ON journal (seq) WHERE kind <> '';

-- +goose Down
DROP INDEX journal_failures_seq;
DROP INDEX journal_failures;
