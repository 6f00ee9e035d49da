package secret_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/secret"
)

func TestName(t *testing.T) {
	t.Parallel()

	hidden := []string{
		"password", "Password", "PASSWORD", "passwd", "pwd", "db_password", "dbPassword", "DB-PASSWORD", "password2", "password_hash",
		"secret", "client_secret", "clientSecret", "ClientSecret", "secretValue", "token", "access_token", "accessToken", "accesstoken",
		"refresh-token", "x-auth-token", "api_key", "apikey", "apiKey", "APIKey", "X-API-Key", "openai_api_key", "OPENAI_API_KEY",
		"authorization", "Authorization", "proxy-authorization", "credential", "credentials", "private_key", "privateKey", "ssh.key",
		"aws_secret_access_key", "cookie", "Set-Cookie", "session_id", "sessionId", "PHPSESSID.sessid", "jwt", "connection_string",
		"mcp-session-id", "auth", "otp",
	}
	for _, name := range hidden {
		if !secret.Name(name) {
			t.Errorf("Name(%q) = false, want true", name)
		}
	}
	shown := []string{
		"", "_", "name", "id", "limit", "key", "sort_key", "primaryKey", "author", "authorId", "page_token", "nextPageToken", "max_tokens",
		"total_tokens", "token_count", "tokenType", "password_policy", "secret_name", "session", "passenger", "tokenizer", "keyboard",
		"secretary", "compass", "bypass_cache", "pin", "expires_in", "number", "日本",
	}
	for _, name := range shown {
		if secret.Name(name) {
			t.Errorf("Name(%q) = true, want false", name)
		}
	}
}

func TestNameOfAnyLength(t *testing.T) {
	t.Parallel()

	if !secret.Name(strings.Repeat("x_", 1<<20) + "password") {
		t.Error("the end of a long name is ignored")
	}
}
