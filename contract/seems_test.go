package contract_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/wildtest"
)

var realDir = flag.String("real", "", "a directory with further recorded answers, as *.jsonl, to measure what seems to be a failure")

// asSuccess returns a result that says that it succeeded, with a text.
func asSuccess(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(`{"content":[{"type":"text","text":` + string(raw) + `}],"isError":false}`)
}

// seems reads an answer that says success, and checks that the line which it leads to is enough to have it told as a failure.
func seems(t *testing.T, result []byte) string {
	t.Helper()
	r := wildReader(false)
	if _, failed := r.Result(result); failed {
		t.Fatalf("%s: a failure without any configuration", result)
	}
	reading, reads, ok := r.Seems(result)
	if !ok {
		return ""
	}
	for _, f := range contract.Families() {
		if f.Name == reads {
			r.Families = []*contract.Family{f}
		}
	}
	told, failed := r.Result(result)
	if !failed {
		t.Fatalf("%s: a success with `reads: %s`", result, reads)
	}
	if diff := cmp.Diff(reading.Error().Kind, told.Error().Kind); diff != "" {
		t.Errorf("%s: what it seems to be (-), what is told (+):\n%s", result, diff)
	}
	return reads
}

// What is plainly a failure is seen in an answer that says success, and so is which line of the configuration has it told.
func TestSeems(t *testing.T) {
	t.Parallel()
	for text, reads := range map[string]string{
		`{"ok":false,"error":"channel_not_found"}`:                                                                           "slack",
		`{"ok":false,"error":"the mill is shut","tried":3}`:                                                                  "general",
		`{"success":false,"error":{"code":17,"message":"the mill is shut"}}`:                                                 "general",
		`{"status":"error","message":"no such lot","data":{"lots":0},"output":null}`:                                         "general",
		`{"status":"failed","error":"Failed to install the chart: helm was not found"}`:                                      "general",
		`{"error":"fetch failed"}`:                                                                                           "general",
		`{"result":{"error":"no presentation is loaded"}}`:                                                                   "general",
		`{"results":[{"source":"a.pdf","success":false,"error":"File not found"},{"status":"error","message":"Too large"}]}`: "general",
		`{"items":[{"id":1,"success":false,"error":"gone"},{"id":2,"success":false,"error":"too large"}]}`:                   "general",
		`{"errors":[{"message":"not allowed","path":["createIssue"]}]}`:                                                      "general",
		`{"succeeded":[],"failed":[{"id":"a","error":"gone"}]}`:                                                              "general",
		`[{"ok":false,"error":"gone"},{"ok":false,"error":"gone"}]`:                                                          "general",
		`{"errors":[{"message":"no such field","locations":[{"line":1,"column":2}]}]}`:                                       "general",
		`{"data":null,"errors":[{"message":"Something is wrong"}]}`:                                                          "general",
		"502 Bad Gateway":                     "general",
		"HTTP Error 503: Service Unavailable": "http",
		"<html>\r\n<head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>":                          "general",
		"<!DOCTYPE HTML><html><head><title>404 Not Found</title></head><body><h1>Not Found</h1><p>The requested URL was not found.</p></body></html>": "general",
		"An error occurred (AccessDenied) when calling the PutObject operation: Access Denied":                                                        "aws",
	} {
		if got := seems(t, asSuccess(t, text)); got != reads {
			t.Errorf("%s: got %q, want %q", text, got, reads)
		}
	}
	for _, text := range []string{
		`{"ok":true,"error":"none so far"}`,
		`{"ok":false}`,
		`{"success":false,"reason":"declined"}`,
		`{"success":false,"message":"The gate is closed","gate":{"id":7,"state":"closed"}}`,
		`{"id":"job_1","status":"failed","error":"exit status 1"}`,
		`{"jobId":17,"status":"error","message":"exit status 1"}`,
		`[{"id":"a","success":false,"error":"gone"}]`,
		`{"data":{"createIssue":null},"errors":[{"message":"not allowed","path":["createIssue"]}]}`,
		`{"data":{"lot":{"name":"North"},"price":null},"errors":[{"message":"no price","path":["price"]}]}`,
		`{"results":[{"id":"a","success":true},{"id":"b","success":false,"error":"gone"}]}`,
		`{"passed":[],"failed":[{"name":"TestMill","message":"want 1, got 2"}]}`,
		`{"errors":[{"line":3,"message":"unused variable"}],"warnings":[]}`,
		`{"valid":false,"errors":["name is missing"]}`,
		`{"items":[{"name":"a","error":null},{"name":"b","error":null}]}`,
		`{"error":null}`, `{"error":""}`, `[]`, `{}`, `{"results":[]}`,
		"404 Not Found is what a server says of a page that it does not have.",
		"<html><head><title>404 Not Found - a reference</title></head><body>What 404 Not Found means.</body></html>",
		"Error handling in Go",
	} {
		if got := seems(t, asSuccess(t, text)); got != "" {
			t.Errorf("%s: looks failed by %s, want a success", text, got)
		}
	}
}

// How many successes look like failures, and how many of the failures that say success do. With -real=DIR, also of the answers
// recorded there.
func TestSeemingRates(t *testing.T) {
	t.Parallel()
	corpus, err := wildtest.Load()
	if err != nil {
		t.Fatal(err)
	}
	var alarms, hits tally
	for i := range corpus.Innocents {
		innocent := &corpus.Innocents[i]
		count(t, &alarms, innocent.Topic+"/"+innocent.Name, seems(t, innocent.Result), true)
	}
	for i := range corpus.Failures {
		if f := &corpus.Failures[i]; f.Answer.Unmarked {
			count(t, &hits, f.Family, seems(t, f.Answer.Result), false)
		}
	}
	for _, name := range []string{"http-innocent.jsonl", "http-innocent-with-error-words.jsonl"} {
		for _, a := range recorded(t, name) {
			count(t, &alarms, a.Body, seems(t, asSuccess(t, a.Body)), true)
		}
	}
	t.Logf("looks failed: %s of the successes, %s of the failures that say success", alarms, hits)
	var more tally
	for _, a := range recorded(t, "http-ok-but-failed.jsonl") {
		count(t, &more, a.Body, seems(t, asSuccess(t, a.Body)), false)
	}
	for _, a := range recorded(t, "npm-servers.jsonl") {
		if a.IsError != nil && !*a.IsError {
			count(t, &more, a.Text, seems(t, asSuccess(t, a.Text)), false)
		}
	}
	for _, a := range recorded(t, "mcp-tool-errors.jsonl") {
		if a.Kind == "said-success" {
			count(t, &more, a.Body, seems(t, []byte(a.Body)), false)
		}
	}
	if *realDir != "" {
		t.Logf("looks failed: %s of the recorded failures that say success", more)
	}
	if alarms.rate() > maxFalse {
		t.Errorf("want at most %.1f %% of the successes to look failed", maxFalse)
	}
}

// count counts an answer that looks failed, and prints one that should not, or should.
func count(t *testing.T, n *tally, name, reads string, innocent bool) {
	t.Helper()
	n.all++
	if reads != "" {
		n.right++
	}
	if innocent == (reads != "") {
		t.Logf("%.300s: looks failed by %q", name, reads)
	}
}

type recordedAnswer struct {
	Body    string `json:"body"`
	Text    string `json:"text"`
	Kind    string `json:"kind"`
	IsError *bool  `json:"isError"`
}

// recorded returns the answers in a file of -real.
func recorded(t *testing.T, name string) (list []recordedAnswer) {
	t.Helper()
	if *realDir == "" {
		return nil
	}
	file, err := os.Open(filepath.Join(*realDir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var a recordedAnswer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return list
}
