-- +goose Up
-- Calls that are made once; see package once.
CREATE TABLE once (
	id         TEXT   NOT NULL PRIMARY KEY, -- hash of the scope and the key
	fence      BIGINT NOT NULL,
	state      TEXT   NOT NULL,
	owner      TEXT   NOT NULL, -- the process that has sent it
	print      TEXT   NOT NULL, -- of the arguments
	fields     TEXT   NOT NULL, -- a JSON object: fingerprints of the single arguments
	nonce      TEXT   NOT NULL,
	delivered  BIGINT NOT NULL, -- 1: the client has got the answer
	answer     TEXT   NOT NULL, -- sealed; empty: it is not kept
	size       BIGINT NOT NULL, -- of the answer
	note       TEXT   NOT NULL,
	server     TEXT   NOT NULL,
	tool       TEXT   NOT NULL,
	caller     TEXT   NOT NULL,
	request_id TEXT   NOT NULL,
	created    BIGINT NOT NULL,
	changed    BIGINT NOT NULL,
	expires    BIGINT NOT NULL
);

CREATE INDEX once_expires ON once (expires);
CREATE INDEX once_open ON once (state, changed) WHERE state <> 'answered';
CREATE INDEX once_request_id ON once (request_id);

-- Processes with calls under way. A beat grows as long as they live.
CREATE TABLE once_owners (
	owner TEXT   NOT NULL PRIMARY KEY,
	beat  BIGINT NOT NULL,
	seen  BIGINT NOT NULL -- by the clock of the owner, for tidying up
);

-- +goose Down
DROP TABLE once_owners;
DROP TABLE once;
