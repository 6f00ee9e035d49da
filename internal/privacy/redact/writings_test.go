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
		`| User | Password | Role |\n|---|:---:|---|\n| bob | ` + x + ` | admin |`, `b'| User | Password |\n|---|---|\n| bob | ` + x + ` |\n'`,
		`body={"error":"| User | Password |\n|---|---|\n| bob | ` + x + ` |"}`,
		"password -> " + x, "password->" + x, "api_key -> '" + x + "'", "password → " + x, "'password' -> " + x,
		`{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","d":"` + long + `"}`,
		`{'kty': 'OKP', 'crv': 'Ed25519', 'd': '` + long + `'}`, "kty: EC\nd: " + long,
		`{"k":"` + long + `","kty":"oct"}`, `{\"kty\":\"RSA\",\"n\":\"0vx\",\"d\":\"` + long + `\"}`,
		// JSON within a sentence is read like JSON.
		`body={"password":["` + x + `"]} was refused`, `got {"password":{"raw":"` + x + `","ok":false}}, 2 times`, `it says {"apiKeys": {"prod": "` + x + `"}}.`,
		// A name and its value stand apart.
		"- name: DB_PASSWORD\n  value: " + x, "key: password, value: " + x, "[Parameter 'password', Value '" + x + "']",
		"<key>password</key>\n<string>" + x + "</string>", "<name>fs.s3a.secret.key</name><value>" + x + "</value>", `<entry key="password">` + x + "</entry>",
		"<td>Password</td><td>" + x + "</td>", "<dt>API key</dt>\n<dd>" + x + "</dd>", `<input type="password" name="p" value="` + x + `">`,
		`<input value='` + x + `' type='password'>`,
		"│ password │ " + x + " │", "┌──────┬──────────┐\n│ name │ password │\n├──────┼──────────┤\n│ bob  │ " + x + " │\n└──────┴──────────┘",
		"┃ api_key ┃ " + x + " ┃", "password ⇒ " + x,
		// SQL
		"INSERT INTO users (name, password) VALUES ('bob', '" + x + "')", `insert into "users"("id","api_key") values (7,'` + x + `'),(8,'b')`,
		"[SQL: INSERT INTO users (name, password) VALUES (?, ?)]\n[parameters: ('bob', '" + x + "')]", "CREATE LOGIN bob WITH PASSWORD = N'" + x + "'",
		"CREATE USER bob IDENTIFIED BY " + x, "PRAGMA key = '" + x + "'", "sqlplus bob/" + x + "@orcl",
		// Dumps, commands and protocols
		`s:8:"password";s:10:"` + x + `";`, `{password,"` + x + `"}`, `{password,<<"` + x + `">>}`, `(password . "` + x + `")`, "auth=('bob', '" + x + "')",
		`HTTPBasicAuth("bob", "` + x + `")`, "Command '['curl', '-u', 'bob:" + x + "']' failed", `["mysql", "-uroot", "-p` + x + `"]`,
		`ran ["mysql", "-uroot", "-p` + x + `"]`, "setx API_TOKEN " + x, "a1 LOGIN bob " + x, "AUTH PLAIN AGJvYgA" + x, "credentials: bob / " + x,
		"Invalid API key provided: " + x,
	} {
		if masked := redact.New(redact.Secrets).String(text); strings.Contains(masked, x) {
			t.Errorf("%q became %q", text, masked)
		}
	}
	for _, text := range []string{
		"$this->password->verify($input2)", "token->next", "password -> string", "the token -> see page 12", `["git","--message","version 2 of it"]`,
		"Content-Disposition: form-data; name=\"title\"\r\n\r\nA title of 2026", "identified by its number 1234", "identified by 'name'",
		`the schema is {"type":"object","properties":{"password":{"type":"string","minLength":8}}}`, `{"Access-Control-Allow-Credentials":"true"}`,
		`{"token":{}}`, "name: token\nvalue: the one that the server gave", "<td>Password</td><td>must be longer than 8 characters</td>", "<td>token</td><td>string</td>",
		"the parameter 'token' has the value 'next'", "INSERT INTO users (name, email) VALUES ('bob', 'b1')", `{token, "a second one"}`, "decode(token, \"utf8\")",
		"key: region, value: eu-west-1", "login: bob / admin", "No token provided: sign in first", "USER LOGIN FAILED", "AUTH is missing", "pragma once",
		"identified by the number 17", "Expired API Key provided: rk_test_****abcd", "│ name │ north1 │",
		`{"d":"M150 0 L75 200 L225 200 Z and more of a path"}`, `{"kty":"EC","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"}`, "a -> b1234", "tokens -> 1234",
	} {
		if masked := redact.New(redact.Secrets).String(text); masked != text && !strings.Contains(text, "identified by 'name'") {
			t.Errorf("%q became %q", text, masked)
		}
	}
}
