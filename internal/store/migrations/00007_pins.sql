-- +goose Up
-- The tools of servers as they were first seen, and what has changed since; see package pin.
CREATE TABLE pin_servers (
	server   TEXT   NOT NULL PRIMARY KEY,
	revision BIGINT NOT NULL, -- grows with each change of the server's pins
	whole    BIGINT NOT NULL  -- 1: a whole list has been seen, and what appears after that is new
);

CREATE TABLE pins (
	server  TEXT   NOT NULL,
	tool    TEXT   NOT NULL,
	pinned  TEXT   NOT NULL, -- the definition that clients get; empty: they are not offered the tool
	waiting TEXT   NOT NULL, -- the server's own, if it is another one
	gone    BIGINT NOT NULL, -- 1: the server no longer lists the tool
	changed BIGINT NOT NULL,
	PRIMARY KEY (server, tool)
);

-- +goose Down
DROP TABLE pins;
DROP TABLE pin_servers;
