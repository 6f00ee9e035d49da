package failures_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// An error about a file that the caller did not name is for the person who set the server up: no other arguments help. A file
// that the caller named is the caller's matter.
func TestAFileOfTheServersOwn(t *testing.T) {
	t.Parallel()
	const path = "/srv/memory/graph.json"
	tools := []testkit.Tool{
		{Name: "read_graph", Definition: `{"name":"read_graph","inputSchema":{"type":"object","properties":{}}}`},
		{Name: "add_note"},
	}
	srv := testkit.NewServer(t, testkit.WithTools(tools...))
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	for _, tt := range []struct {
		tool, args, text string
		own              bool
	}{
		{"read_graph", `{}`, "ENOTDIR: not a directory, open '" + path + "'", true},
		{"read_graph", `{}`, "Error: EACCES: permission denied, open '" + path + "'", true},
		{"read_graph", `{}`, "ENOENT: no such file or directory, open '" + path + "'", true},
		{"read_graph", `{}`, "EISDIR: illegal operation on a directory, read '" + path + "'", true},
		{"read_graph", `{}`, "EROFS: read-only file system, open '" + path + "'", true},
		{"read_graph", `{}`, "ENAMETOOLONG: name too long, open '" + path + "'", true},
		{"add_note", `{"note":"Buy milk"}`, "[Errno 20] Not a directory: '" + path + "'", true},
		{"add_note", `{"note":"Buy milk","n":2}`, "open " + path + ": permission denied", true},
		{"add_note", `{"note":"Buy milk"}`, "[Errno 13] Permission denied: '" + path + "'", true},
		// The name of a file can follow from any argument.
		{"add_note", `{"note":"Buy milk"}`, "ENOENT: no such file or directory, open '" + path + "'", false},
		{"add_note", `{"note":"graph","to":"srv/memory/graph"}`, "ENOTDIR: not a directory, open '" + path + "'", false},
		{"add_note", `{"to":["srv/memory/graph.json"]}`, "EACCES: permission denied, open '" + path + "'", false},
		{"add_note", `{"dir":"/srv/memory/"}`, "ENOTDIR: not a directory, open '" + path + "'", false},
		{"add_note", `{"code":"open(base())"}`, "[Errno 13] Permission denied: '" + path + "'", false},
		{"add_note", `{"note":"Buy milk"}`, "Invalid argument", false},
	} {
		text, _ := json.Marshal(tt.text)
		srv.Always(tt.tool, faults.Result("", `{"isError":true,"content":[{"type":"text","text":`+string(text)+`}]}`))
		a, err := client.Call(t.Context(), tt.tool, tt.args)
		if err != nil {
			t.Fatal(err)
		}
		e := gatewaytest.Record(t, a)
		if got := e.RetryAdvice() == recourse.RetryAfterSetup; got != tt.own || got && e.Kind.Class() == recourse.ClassInput {
			t.Errorf("%s %s: %q is told as %s, %s", tt.tool, tt.args, tt.text, e.Kind, e.RetryAdvice())
		}
	}
}

// What was done before something failed is no reason to call again, and its arguments were not merely wrong.
func TestWhatWasDoneIsTold(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithTools(testkit.Tool{Name: "send"}))
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	for _, text := range []string{
		"Saved. Then connection refused", "created order 17, notification failed: ECONNREFUSED", "2 of 3 uploaded; c.txt: invalid name",
		"Posted 3 of 10 messages; rate limit exceeded, retry after 5 s", "Payment charged; receipt not found",
	} {
		srv.Always("send", faults.Result("", `{"isError":true,"content":[{"type":"text","text":"`+text+`"}]}`))
		a, err := client.Call(t.Context(), "send", "{}")
		if err != nil {
			t.Fatal(err)
		}
		read, e := a.Result(t).Text(), gatewaytest.Record(t, a)
		if e.Effect != recourse.EffectUnknown || !strings.Contains(read, "It is not known whether the call took effect.") ||
			strings.Contains(read, "Nothing was") || strings.Contains(read, "Wait ") {
			t.Errorf("%q: effect %s, read as %q", text, e.Effect, read)
		}
	}
}

// A tool that says that it only reads, of a server whose annotations nobody trusts, is believed in words while it answers. After
// a crash it is not.
func TestReadingByItsOwnWord(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL(), "timeout: 200ms").Client(t, testkit.Legacy)
	for _, tt := range []struct {
		fault testkit.Fault
		want  recourse.Effect
	}{
		{faults.ResetBeforeAnswer(), recourse.EffectUnknown},
		{faults.Hang(), recourse.EffectUnknown},
		{faults.Status(http.StatusInternalServerError, faults.Plain), recourse.EffectUnknown},
		{faults.Status(http.StatusBadGateway, faults.Plain), recourse.EffectUnknown},
		{faults.Result("", `{"isError":true,"content":[{"type":"text","text":"Request timed out"}]}`), recourse.EffectUnknown},
		{faults.Result("", `{"isError":true,"content":[{"type":"text","text":"Command failed with exit code 1: farm"}]}`), recourse.EffectNone},
		{faults.Result("", `{"isError":true,"content":[{"type":"text","text":"field not found"}]}`), recourse.EffectNone},
	} {
		srv.Always(testkit.GetField, tt.fault)
		a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"x"}`)
		if err != nil {
			t.Fatal(err)
		}
		if e := gatewaytest.Record(t, a); e.Effect != tt.want {
			t.Errorf("%s: effect %s (%s), want %s", tt.fault.Name, e.Effect, e.EffectBasis, tt.want)
		}
	}
}

// Of several SQL statements, those before the one that failed have been carried out, unless the database undoes them.
func TestALaterStatement(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithTools(testkit.Tool{Name: "execute_sql"}))
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	const ( // as DBHub answers for SQLite
		noTable = `{"success":false,"error":"no such table: nope","code":"EXECUTION_ERROR"}`
		exists  = `{"success":false,"error":"table users already exists","code":"EXECUTION_ERROR"}`
		check   = `{"success":false,"error":"CHECK constraint failed: age>0","code":"EXECUTION_ERROR"}`
		syntax  = `{"success":false,"error":"near \"selec\": syntax error","code":"EXECUTION_ERROR"}`
	)
	for _, tt := range []struct {
		sql, text string
		want      recourse.Effect
	}{
		{"insert into users values (1); select * from nope", noTable, recourse.EffectUnknown},
		{"UPDATE users SET age = 1;\nINSERT INTO nope VALUES (1);\n", noTable, recourse.EffectUnknown},
		{"drop table if exists a; create table users (a int);", exists, recourse.EffectUnknown},
		{"insert into users values (1); insert into users values (-1)", check, recourse.EffectUnknown},
		{"insert into nope values (1)", noTable, recourse.EffectNone},
		{"insert into nope values (1);\n", noTable, recourse.EffectNone},
		{"select 1; insert into nope values (1)", noTable, recourse.EffectNone},
		{"insert into users values (1); selec 1", syntax, recourse.EffectNone}, // most databases read all before they begin
	} {
		sql, _ := json.Marshal(tt.sql)
		text, _ := json.Marshal(tt.text)
		srv.Always("execute_sql", faults.Result("", `{"isError":true,"content":[{"type":"text","text":`+string(text)+`}]}`))
		a, err := client.Call(t.Context(), "execute_sql", `{"sql":`+string(sql)+`}`)
		if err != nil {
			t.Fatal(err)
		}
		e, read := gatewaytest.Record(t, a), a.Result(t).Text()
		doubt := strings.Contains(read, "It is not known whether the call took effect.")
		if e.Effect != tt.want || doubt != (tt.want == recourse.EffectUnknown) {
			t.Errorf("%s: effect %s, read as %q", sql, e.Effect, read)
		}
	}
}
