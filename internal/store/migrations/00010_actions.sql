-- +goose Up
-- What operators have done.
CREATE TABLE actions (
	seq      BIGINT NOT NULL PRIMARY KEY, -- grows with time, see Journal.Next
	operator TEXT   NOT NULL, -- empty: whoever was at the console's address
	origin   TEXT   NOT NULL, -- a client's address, or a command line
	what     TEXT   NOT NULL,
	target   TEXT   NOT NULL  -- a JSON object
);

-- +goose Down
DROP TABLE actions;
