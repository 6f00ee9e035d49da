-- The same statements run on SQLite and on PostgreSQL. Instants and durations are microseconds; 0 is never.

-- +goose Up
CREATE TABLE api_keys (
	id        TEXT   NOT NULL PRIMARY KEY,
	name      TEXT   NOT NULL,
	hash      TEXT   NOT NULL,
	org       TEXT   NOT NULL,
	roles     TEXT   NOT NULL, -- a JSON array
	created   BIGINT NOT NULL,
	expires   BIGINT NOT NULL,
	revoked   BIGINT NOT NULL,
	last_used BIGINT NOT NULL
);

CREATE TABLE journal (
	seq        BIGINT NOT NULL PRIMARY KEY, -- grows with time, see Journal.Next
	size       BIGINT NOT NULL,             -- of the row in bytes, about
	request_id TEXT   NOT NULL,
	began      BIGINT NOT NULL,
	took       BIGINT NOT NULL,
	server     TEXT   NOT NULL,
	tool       TEXT   NOT NULL,
	method     TEXT   NOT NULL,
	access     TEXT   NOT NULL,
	caller     TEXT   NOT NULL,
	org        TEXT   NOT NULL,
	ending     TEXT   NOT NULL,
	kind       TEXT   NOT NULL, -- of the failure; empty for a success
	code       TEXT   NOT NULL,
	origin     TEXT   NOT NULL,
	effect     TEXT   NOT NULL,
	attempts   BIGINT NOT NULL,
	trace_id   TEXT   NOT NULL,
	message    TEXT   NOT NULL,
	story      TEXT   NOT NULL  -- a JSON object with all else
);

CREATE INDEX journal_request_id ON journal (request_id);
CREATE INDEX journal_size ON journal (seq, size);

-- +goose Down
DROP TABLE journal;
DROP TABLE api_keys;
