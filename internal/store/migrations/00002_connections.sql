-- +goose Up
CREATE TABLE connections (
	provider   TEXT   NOT NULL,
	owner      TEXT   NOT NULL,
	state      TEXT   NOT NULL,
	reason     TEXT   NOT NULL,
	scopes     TEXT   NOT NULL, -- a JSON array
	expires    BIGINT NOT NULL, -- of the access token
	sealed     TEXT   NOT NULL, -- the token
	key_id     TEXT   NOT NULL,
	version    BIGINT NOT NULL,
	lease      TEXT   NOT NULL, -- of who refreshes the token; empty: nobody
	lease_ends BIGINT NOT NULL,
	made_by    TEXT   NOT NULL,
	created    BIGINT NOT NULL,
	updated    BIGINT NOT NULL,
	PRIMARY KEY (provider, owner)
);

CREATE TABLE connection_links (
	hash       TEXT   NOT NULL PRIMARY KEY, -- of what stands in the link
	provider   TEXT   NOT NULL,
	owner      TEXT   NOT NULL,
	access     TEXT   NOT NULL, -- with name and server: who asked, and where
	name       TEXT   NOT NULL,
	server     TEXT   NOT NULL,
	scopes     TEXT   NOT NULL, -- a JSON array
	expires    BIGINT NOT NULL,
	used       BIGINT NOT NULL, -- 0: not yet
	state_hash TEXT   NOT NULL, -- of the sign-in under way at the provider; empty: none
	sealed     TEXT   NOT NULL  -- what that sign-in needs
);

CREATE INDEX connection_links_state ON connection_links (state_hash);

-- +goose Down
DROP TABLE connection_links;
DROP TABLE connections;
