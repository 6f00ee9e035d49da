-- +goose Up
-- Sign-ins under way of people who have opened a link, at the issuer of their tokens.
CREATE TABLE connection_logins (
	state_hash TEXT   NOT NULL PRIMARY KEY,
	link       TEXT   NOT NULL, -- hash of the link
	sealed     TEXT   NOT NULL, -- what the end of the sign-in needs
	expires    BIGINT NOT NULL
);

-- +goose Down
DROP TABLE connection_logins;
