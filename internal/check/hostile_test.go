//go:build unix

package check_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/server"
)

// hostiles are servers that do not play along. Each answers a line, or does not.
var hostiles = map[string]func(out io.Writer, line string, n int){
	"hangs at initialize": func(io.Writer, string, int) { select {} },
	"garbage":             func(out io.Writer, _ string, n int) { fmt.Fprintf(out, "<html>%d</html>\n", n) },
	"flood": func(out io.Writer, _ string, _ int) {
		for {
			if _, err := io.WriteString(out, strings.Repeat("x", 1<<20)+"\n"); err != nil {
				return
			}
		}
	},
	"asks and does not listen": func(out io.Writer, _ string, _ int) {
		for n := 0; ; n++ {
			if _, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`+"\n", n); err != nil {
				return
			}
		}
	},
	"endless line":       func(out io.Writer, _ string, _ int) { endlessly(out) },
	"dies at initialize": func(io.Writer, string, int) { os.Exit(3) },
	"dies at each call": func(out io.Writer, line string, _ int) {
		if strings.Contains(line, "tools/call") {
			os.Exit(3)
		}
		for _, answer := range (&fixture{}).answer(line) {
			fmt.Fprintln(out, answer)
		}
	},
	"dies at some calls": func(out io.Writer, line string, _ int) {
		if strings.Contains(line, `"order_id":[[`) {
			os.Exit(3)
		}
		for _, answer := range (&fixture{}).answer(line) {
			fmt.Fprintln(out, answer)
		}
	},
	"an answer without an end": func(out io.Writer, line string, _ int) {
		if !strings.Contains(line, "tools/list") {
			for _, answer := range (&fixture{}).answer(line) {
				fmt.Fprintln(out, answer)
			}
			return
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":["`, idIn(line))
		endlessly(out)
	},
	"50,000 tools": func(out io.Writer, line string, _ int) {
		if strings.Contains(line, "tools/list") {
			one := `{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}`
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`+"\n", idIn(line), strings.Repeat(one+",", 49_999)+one)
			return
		}
		for _, answer := range (&fixture{}).answer(line) {
			fmt.Fprintln(out, answer)
		}
	},
	"large pages": func(out io.Writer, line string, n int) {
		if strings.Contains(line, "tools/list") {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t%d","description":"%s","inputSchema":{"type":"object"}}],"nextCursor":"%d"}}`+"\n",
				idIn(line), n, strings.Repeat("w", 6<<20), n)
			return
		}
		for _, answer := range (&fixture{}).answer(line) {
			fmt.Fprintln(out, answer)
		}
	},
	"a schema without an end": func(out io.Writer, line string, _ int) {
		if strings.Contains(line, "tools/list") {
			schema := `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"properties":{"x":{"$ref":"#/$defs/a"}}}]}}}`
			deep := strings.Repeat(`{"properties":{"x":`, 500) + "{}" + strings.Repeat("}}", 500)
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a","inputSchema":%s},{"name":"b","inputSchema":%s},{"name":"c"},null,`+
				`{"name":"d","inputSchema":"no"}]}}`+"\n", idIn(line), schema, deep)
			return
		}
		for _, answer := range (&fixture{}).answer(line) {
			fmt.Fprintln(out, answer)
		}
	},
	"asks back": func(out io.Writer, line string, n int) {
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":"q%d","method":"sampling/createMessage","params":{}}`+"\n", n)
		for _, answer := range (&fixture{}).answer(line) {
			fmt.Fprintln(out, answer)
		}
	},
}

// endlessly writes a line that has no end.
func endlessly(out io.Writer) {
	for {
		if _, err := io.WriteString(out, strings.Repeat("x", 1<<20)); err != nil {
			return
		}
	}
}

// stops are words that a report says it was stopped with.
var stops = map[string]string{
	"garbage": `initialize: no answer in time; it wrote "<html>0</html>"`, "endless line": "initialize: the answer is longer than 16 MiB",
	"an answer without an end": "tools/list: the answer is longer than 16 MiB", "dies at initialize": "initialize: the connection ended",
}

// idIn returns the id of a request.
func idIn(line string) string {
	_, rest, _ := strings.Cut(line, `"id":`)
	id, _, _ := strings.Cut(rest, ",")
	return id
}

// serveHostile is a hostile server on stdio.
func serveHostile(name string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 4<<20)
	for n := 0; in.Scan(); n++ {
		hostiles[name](os.Stdout, in.Text(), n)
	}
}

// A hostile server ends a check with a report that says why, in bounded time, and with nothing left running.
func TestHostile(t *testing.T) {
	t.Parallel()

	for name := range hostiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			timeout := 10 * time.Second
			switch name { // they never answer, and the first request has six times as long
			case "hangs at initialize", "flood", "asks and does not listen":
				timeout = 100 * time.Millisecond
			case "garbage", "endless line": // the report says so
				timeout = time.Second
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			report := check.Check(t.Context(), &server.Program{
				Command: []string{self}, Env: append(os.Environ(), "FIXTURE_HOSTILE="+name), Stderr: io.Discard, Leave: 100 * time.Millisecond,
			}, check.Options{Mode: check.Safe, Timeout: timeout})
			t.Logf("%s, %d of 100, %d rules, stopped: %s, strays of %v", report.Grade, report.Score, report.Rules.Observed, report.Stopped, brokenIn(report))
			if letter := report.Letter(); report.Stopped != "" && letter != "" && letter != "F" && !strings.HasSuffix(letter, " so far") {
				t.Errorf("stopped: %s, and the grade is %s", report.Stopped, letter)
			}
			if want := stops[name]; !strings.Contains(report.Stopped, want) {
				t.Errorf("stopped: %q, want %q", report.Stopped, want)
			}
			switch name {
			case "dies at some calls":
				if report.Grade != "C" || report.Stopped != "" {
					t.Errorf("a request ends it, and the grade is %s; stopped: %s", report.Grade, report.Stopped)
				}
			case "asks back", "a schema without an end":
				if report.Stopped != "" || !report.Started {
					t.Errorf("stopped: %s", report.Stopped)
				}
			case "50,000 tools", "large pages":
				if name == "large pages" && report.Server.Tools != 3 {
					t.Errorf("%d pages of 6 MB are kept", report.Server.Tools)
				}
				if sentences(report, "list-ends") == nil {
					t.Errorf("an endless list is no finding: %v", brokenIn(report))
				}
				const why = "the list of tools is too long to be asked for again and again"
				for _, rule := range []string{"many-at-once", "alive-after-faults"} {
					if !slices.Contains(report.NotObserved, check.NotObserved{Rule: rule, Why: why}) {
						t.Errorf("%s is observed, or not for the list's length: %v", rule, report.NotObserved)
					}
				}
				if report.Stopped != "" || report.Requests > 140 {
					t.Errorf("stopped: %q after %d requests", report.Stopped, report.Requests)
				}
			default:
				if report.Stopped == "" || report.Grade == "A" {
					t.Errorf("the grade is %q; stopped: %q", report.Grade, report.Stopped)
				}
			}
		})
	}
}
