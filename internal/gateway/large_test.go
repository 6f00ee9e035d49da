package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/mcptool"
)

// authorVariable is the environment variable that makes the test binary a server on stdio, written with mcptool. Its value
// is the contract.
const authorVariable = "AUTHOR_CONTRACT"

// author returns the keys of an entry for such a server.
func author(name string) []string {
	return []string{"command: [" + strconv.Quote(os.Args[0]) + "]", "env:", "  " + authorVariable + ": " + name, "  GORACE: atexit_sleep_ms=0"}
}

// authored returns a server with a tool that fails for every second item.
func authored(name string) *mcp.Server {
	c := contract.MustBuiltin(name)
	server := mcp.NewServer(&mcp.Implementation{Name: "author", Version: "1"}, nil)
	mcptool.Use(server, c)
	type args struct {
		N int `json:"n"`
	}
	mcptool.AddTool(server, &mcp.Tool{Name: "batch"}, func(_ context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
		return nil, nil, contracttest.Batch(in.N)
	})
	return server
}

// serveAuthor runs an authored server on stdio until its client leaves.
func serveAuthor(name string) {
	if err := authored(name).Run(context.Background(), mcptool.Stdio(os.Stdin, os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// A batchCell is one way of a large batch from a server to a client.
type batchCell struct {
	from, to  string // contracts, of the server and of the gateway
	n         int
	server    string // who writes the batch, and where
	transport string
	era       testkit.Era // the era of the server
	client    testkit.Era
}

func (c batchCell) String() string {
	return fmt.Sprintf("%s to %s/%d/%s/%s/%s to %s", c.from, c.to, c.n, c.server, c.transport, c.era, c.client)
}

// Values of a batchCell.
const (
	byAuthor         = "mcptool"
	inText           = "text"
	inStructure      = "structuredContent"
	inData           = "data of a JSON-RPC error"
	overStdio        = "stdio"
	overJSON         = "JSON"
	overSSE          = "SSE"
	batchPlaces      = "fieldmcp recourse" // the contracts with a place for the items
	batchArguments   = `{"n":%d}`
	orderedArguments = `{"reference":"A-17","amount":5}`
)

// batchCells returns all ways for batches of these sizes.
func batchCells(sizes ...int) []batchCell {
	var cells []batchCell
	for _, n := range sizes {
		for from := range strings.FieldsSeq(batchPlaces) {
			for to := range strings.FieldsSeq(batchPlaces) {
				for _, client := range testkit.Eras {
					for _, server := range testkit.Eras {
						for _, by := range []string{byAuthor, inText, inStructure, inData} {
							for _, transport := range []string{overJSON, overSSE, overStdio} {
								if by != byAuthor && transport == overStdio || transport == overStdio && server == testkit.Modern {
									continue // the Go SDK's server on stdio answers in the era of the request
								}
								cells = append(cells, batchCell{from, to, n, by, transport, server, client})
							}
						}
					}
				}
			}
		}
	}
	return cells
}

// start returns a client of a gateway in front of the cell's server, and the call that fails.
func (c batchCell) start(t *testing.T) (client *testkit.Client, tool, arguments string) {
	t.Helper()
	entry := []string{"contract: " + c.to, "tools: {'*': {read_only: true}}"} // read_only leaves it to the items whether they can be repeated
	tool, arguments = "batch", fmt.Sprintf(batchArguments, c.n)
	var url string
	switch {
	case c.transport == overStdio:
		entry = append(entry, author(c.from)...)
	case c.server == byAuthor:
		server := authored(c.from)
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: c.era == testkit.Modern, JSONResponse: c.transport == overJSON})
		t.Cleanup(func() {
			for session := range server.Sessions() {
				_ = session.Close()
			}
		})
		url = testkit.Serve(t, handler) + "/mcp"
	default:
		form := testkit.JSON
		if c.transport == overSSE {
			form = testkit.SSE
		}
		srv := testkit.NewServer(t, testkit.WithForm(form), testkit.WithEra(c.era))
		tool, arguments, url = testkit.OrderCreate, orderedArguments, srv.URL()
		srv.Always(tool, c.foreign(t))
	}
	client = gatewaytest.Start(t, url, entry...).Client(t, c.client)
	client.Keep = 32 << 20
	return client, tool, arguments
}

// foreign returns the answer of a server that was not written with mcptool.
func (c batchCell) foreign(t *testing.T) testkit.Fault {
	t.Helper()
	dialect := contract.MustBuiltin(c.from)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(dialect.Write(contracttest.Batch(c.n), &contract.Call{Method: "tools/call"}).Result, &members); err != nil {
		t.Fatal(err)
	}
	object := members["structuredContent"]
	if object == nil { // recourse has the record in _meta alone, unless it is too large
		var meta map[string]json.RawMessage
		if err := json.Unmarshal(members["_meta"], &meta); err != nil {
			t.Fatal(err)
		}
		object = meta[recourse.MetaKey]
	}
	switch c.server {
	case inData:
		return faults.RPCError("in data", -32000, "Some items failed.", string(object))
	case inStructure:
		return faults.Result("in structuredContent", `{"isError":true,"content":[],"structuredContent":`+string(object)+`,"resultType":"complete"}`)
	default:
		return faults.Result("in text", `{"isError":true,"content":[{"type":"text","text":`+strconv.Quote(string(object))+`}],"resultType":"complete"}`)
	}
}

// run makes the call, and checks every item in its place in the gateway's contract.
func (c batchCell) run(t *testing.T) {
	t.Helper()
	client, tool, arguments := c.start(t)
	a, err := client.Call(t.Context(), tool, arguments)
	if err != nil {
		t.Fatal(err)
	}
	if a.Message == nil || a.Message.Result == nil {
		t.Fatalf("got %.500s, want a result", a.Body)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(a.Message.Result, &members); err != nil {
		t.Fatal(err)
	}
	var meta map[string]json.RawMessage
	if err := json.Unmarshal(members["_meta"], &meta); err != nil || len(meta[recourse.MetaKey]) > recourse.MaxJSON {
		t.Errorf("%v: the record in _meta takes %d bytes", err, len(meta[recourse.MetaKey]))
	}
	if c.to != "recourse" || members["structuredContent"] != nil { // else the record has them
		delete(members, "_meta")
	}
	bare, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	own := contract.MustBuiltin(c.to)
	reading, ok := (&contract.Reader{Contracts: []*contract.Contract{own}}).Result(bare)
	if !ok {
		t.Fatalf("got %.500s, want a failure", bare)
	}
	want := contracttest.Items(contracttest.Batch(c.n))
	if diff := cmp.Diff(want, contracttest.Items(reading.Error())); diff != "" {
		t.Errorf("read by %s (-sent +received): %.1500s", reading.Sign, diff)
	}
	if c.to == "fieldmcp" && !bytes.Contains(bare, []byte(`"code":"FIELD_NOT_FOUND"`)) && c.n > 3 {
		t.Error("the items have lost their codes")
	}
}

// All items of a batch arrive, whoever writes it and however it is transported. This is a sample that has every value of
// each field of a batchCell.
func TestBatches(t *testing.T) {
	t.Parallel()
	const each = 23
	for i, c := range batchCells(10, 100) {
		if i%each == 0 || c.n == 100 && c.from == "fieldmcp" && c.to == "fieldmcp" && c.era == c.client && c.server == byAuthor {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				c.run(t)
			})
		}
	}
}

// All ways.
func TestLongBatches(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range batchCells(1, 10, 100, 1000) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

// A textCell is one way of a failing text from a server to a client.
type textCell struct {
	to     string
	size   int
	first  bool // isError comes before the text
	rpc    bool // the text is the message of a JSON-RPC error
	status int  // of the HTTP answer; 0: 200
	in     shape
}

func (c textCell) String() string {
	return fmt.Sprintf("%s/%d/first %t/rpc %t/%d/%s", c.to, c.size, c.first, c.rpc, c.status, c.in)
}

func textCells(contracts []string, sizes ...int) []textCell {
	var cells []textCell
	for _, to := range contracts {
		for _, size := range sizes {
			for _, in := range shapes {
				cells = append(cells, textCell{to, size, true, false, 0, in}, textCell{to, size, true, true, 0, in})
				if size < 256<<10 {
					cells = append(cells, textCell{to, size, false, false, 0, in})
				}
				for _, status := range []int{400, 500} {
					if to == "terra" && status == 500 {
						continue // the contract has its own sentence for this
					}
					cells = append(cells, textCell{to, size, false, true, status, in}, textCell{to, size, false, false, status, in})
				}
			}
		}
	}
	return cells
}

func (c textCell) run(t *testing.T) {
	t.Helper()
	const secret = "hunter2hunter2"
	text := "The order was refused, password=" + secret + " did not fit. " + strings.Repeat("because ", c.size/8) + "password=" + secret + " The end."
	srv := testkit.NewServer(t, testkit.WithForm(c.in.form))
	content := `"content":[{"type":"text","text":` + strconv.Quote(text) + `}]`
	fault := faults.Result("text", `{`+content+`,"isError":true,"resultType":"complete"}`)
	switch {
	case c.status != 0 && c.rpc:
		fault = faults.RPCStatus("message", c.status, -32000, text, "")
	case c.status != 0:
		fault = faults.StatusWith("problem", c.status, "application/problem+json", `{"title":"refused","detail":`+strconv.Quote(text)+`}`)
	case c.rpc:
		fault = faults.RPCError("message", -32000, text, "")
	case c.first:
		fault = faults.Result("text", `{"isError":true,`+content+`,"resultType":"complete"}`)
	}
	srv.Always(testkit.OrderCreate, fault)
	own := contract.MustBuiltin(c.to)
	path, user := "/farm/mcp", ""
	if own.Session.UserHeader != "" {
		path, user = path+"/{user_id}", "/u-1"
	}
	f := startConfig(t, "max_failure: 2MiB\nservers: {farm: {url: '"+srv.URL()+"', path: '"+path+"', contract: "+c.to+"}}\n")
	client := testkit.NewClient(t, f.URL+user, c.in.era)
	client.Keep, client.Header = 32<<20, http.Header{}
	for _, name := range own.Session.Credentials {
		client.Header.Set(name, "one-1")
	}
	if c.in.era == testkit.Legacy {
		client.MustInitialize(t)
	}
	a, err := client.Call(t.Context(), testkit.OrderCreate, orderedArguments)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(a.Body, []byte(secret)) {
		t.Error("the secret is not masked")
	}
	if a.Message == nil || a.Message.Result == nil {
		t.Fatalf("got %.500s, want a result", a.Body)
	}
	if a.Succeeded() {
		t.Errorf("got success %.500s", a.Body)
	}
	end := bytes.Contains(a.Message.Result, []byte("The end."))
	cut := bytes.Contains(a.Message.Result, []byte("is cut here"))
	if fits := c.size < 256<<10; end != fits || cut == fits {
		t.Errorf("of %d bytes: got the end: %t, got the note that it is cut: %t", c.size, end, cut)
	}
}

// A failing text up to the decision window arrives whole. A longer one that shows in the window that it is a failure is masked,
// whatever its length. No failing text arrives unmasked, or as a success.
func TestLargeTexts(t *testing.T) {
	t.Parallel()
	const each = 37
	for i, c := range textCells(contract.Builtin().Names(), 9<<10, 80<<10, 250_000, 300_000) {
		if i%each == 0 {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				c.run(t)
			})
		}
	}
}

// All ways, and texts longer than max_failure.
func TestLongTexts(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range textCells(contract.Builtin().Names(), 9<<10, 80<<10, 250_000, 300_000, 1<<20, 3<<20) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

// A failure longer than max_failure is cut, and says so in the form of the contract.
func TestFailureIsCut(t *testing.T) {
	t.Parallel()
	testFailureIsCut(t, 60, "32KiB", "decide_within: 16KiB")
}

// The same for a failure longer than the default window.
func TestLongFailureIsCut(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testFailureIsCut(t, 450, "300KiB")
}

func testFailureIsCut(t *testing.T, n int, most string, keys ...string) {
	t.Helper()
	for from := range strings.FieldsSeq(batchPlaces) {
		for _, in := range shapes {
			t.Run(from+"/"+in.String(), func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t, testkit.WithForm(in.form))
				cell := batchCell{from: from, n: n, server: inText}
				srv.Always(testkit.OrderCreate, cell.foreign(t))
				top := append([]string{"max_failure: " + most}, keys...)
				f := startConfig(t, strings.Join(top, "\n")+"\nservers: {farm: {url: '"+srv.URL()+"', contract: "+from+"}}\n")
				client := f.Client(t, in.era)
				a, err := client.Call(t.Context(), testkit.OrderCreate, orderedArguments)
				if err != nil {
					t.Fatal(err)
				}
				e := gatewaytest.Record(t, a)
				if e.Kind != recourse.KindPartial || !e.Truncated() {
					t.Errorf("got %s, truncated %t", e.Kind, e.Truncated())
				}
				if !bytes.Contains(a.Message.Result, []byte("The answer is cut here: it is longer than "+most+".")) {
					t.Errorf("got %.500s", a.Message.Result)
				}
			})
		}
	}
}

// Only eight large failures are read at once. The others wait, and each gives its place back.
func TestLargeFailuresTakeTurns(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	cell := batchCell{from: "fieldmcp", n: 20, server: inText}
	srv.Always(testkit.OrderCreate, cell.foreign(t))
	f := startConfig(t, "decide_within: 16KiB\nservers: {farm: {url: '"+srv.URL()+"', contract: fieldmcp}}\n")
	first := f.Client(t, testkit.Modern)
	var clients []*testkit.Client
	for range 8 + 2 { // eight have a place, two wait
		clients = append(clients, first.Clone(t))
	}
	done := make(chan error)
	for _, client := range clients {
		client.Keep = 8 << 20
		go func() {
			a, err := client.Call(t.Context(), testkit.OrderCreate, orderedArguments)
			if err == nil && a.Succeeded() {
				err = fmt.Errorf("got success %.300s", a.Body)
			}
			done <- err
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
