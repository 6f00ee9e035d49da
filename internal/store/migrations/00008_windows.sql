-- +goose Up
-- Pages look at the latest failures, and not at all of them: these indexes lead to them, by each mark.
DROP INDEX journal_failures;
DROP INDEX journal_failures_seq;
DROP INDEX journal_codes;
CREATE INDEX journal_latest ON journal (seq, server, tool, kind, origin, caller, org, code) WHERE kind <> '';
CREATE INDEX journal_server ON journal (server, seq) WHERE kind <> '';
CREATE INDEX journal_tool ON journal (tool, seq) WHERE kind <> '';
CREATE INDEX journal_kind ON journal (kind, seq) WHERE kind <> '';
CREATE INDEX journal_caller ON journal (caller, seq) WHERE kind <> '';
CREATE INDEX journal_org ON journal (org, seq) WHERE kind <> '';

-- How many failures there were in each minute and half hour.
CREATE TABLE journal_bars (
	length   BIGINT NOT NULL, -- of the time
	server   TEXT   NOT NULL,
	began    BIGINT NOT NULL, -- a whole multiple of length
	kind     TEXT   NOT NULL,
	failures BIGINT NOT NULL,
	PRIMARY KEY (length, server, began, kind)
);

CREATE INDEX journal_bars_began ON journal_bars (length, began);

-- +goose Down
DROP TABLE journal_bars;
DROP INDEX journal_org;
DROP INDEX journal_caller;
DROP INDEX journal_kind;
DROP INDEX journal_tool;
DROP INDEX journal_server;
DROP INDEX journal_latest;
CREATE INDEX journal_failures ON journal (server, tool, kind, origin, caller, org, seq) WHERE kind <> '';
CREATE INDEX journal_failures_seq ON journal (seq) WHERE kind <> '';
CREATE INDEX journal_codes ON journal (server, code, kind, seq) WHERE kind <> '';
