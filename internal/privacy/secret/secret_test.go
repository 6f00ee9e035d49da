package secret_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/privacy/secret"
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

// A text that has the name of a secret mentions one, however it is written.
func TestMentions(t *testing.T) {
	t.Parallel()

	for _, name := range []string{
		"password", "dbPassword", "DB-PASSWORD", "password2", "clientSecret", "x-auth-token", "api_key", "apiKey", "APIKey", "api key",
		"OPENAI_API_KEY", "ssh.key", "aws_secret_access_key", "sessionId", "JSESSIONID", "authtoken", "connection string", "cardNumber", "PIN", "cvv",
		"socialSecurityNumber", "code", "passwörter", "密码", "请输入密码", "Пароль", "dbПАРОЛЬ", "CONTRASEÑA", "clé api", "cléAPI", "code d'accès",
		"parola d'ordine", "LÖSENORD", "SESSİONİD", "\u212aey", "p1a1s1sword", "connection - string", "recovery\u00a0codes", "x\u00a0session id", "api —\u00a0key",
	} {
		for _, text := range []string{name, "the " + name + ": x", `{"` + name + `":1}`, name + "=x"} {
			if !secret.Mentions(text) {
				t.Errorf("Mentions(%q) = false", text)
			}
		}
	}
	for _, text := range []string{
		"", "The field is closed for the season.", "level=info component=sync url=https://api.example.com/v1/fields?limit=5", "bypass_cache",
		"Das Feld wurde nicht gefunden, weil es für die Saison geschlossen ist.", "Поле закрыто на сезон.", "字段在本季已关闭。",
	} {
		if secret.Mentions(text) {
			t.Errorf("Mentions(%q) = true", text)
		}
	}
}

// FuzzMentions checks that whatever is a name is mentioned.
func FuzzMentions(f *testing.F) {
	for _, name := range []string{"aAPIKey", "api_key", "XAuthToken", "a b", "pass1word", "clé api", "code d'accès", "dbПароль", "密码", "k۵ey"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		const longest = 256 // of a longer name, only the end counts
		if len(name) <= longest && secret.Of(name) != secret.Harmless && !secret.Mentions(name) {
			t.Errorf("Mentions(%q) = false", name)
		}
	})
}
