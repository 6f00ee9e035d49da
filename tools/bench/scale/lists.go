package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
)

// lists are those of an endpoint that offers the tools of many servers, 20 each, one of which hangs for a while.
var lists = subject{name: "lists", of: "servers at one path", sizes: []int{50, 500}, most: 2000, measure: measureLists}

const toolsOfEach = 20

// crowd are the servers.
type crowd struct {
	asked atomic.Int64 // requests for tools
	hangs atomic.Bool  // the first one does
}

func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what cannot be read is answered by none
	r.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, []byte(`"tools/list"`)) {
		c.asked.Add(1)
	}
	if c.hangs.Load() && r.URL.Path == "/s0" {
		<-r.Context().Done()
		return
	}
	tools := make([]string, toolsOfEach)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"tool_%d","description":"Looks something up in the archive, by its number, and says what it is.",`+
			`"inputSchema":{"type":"object","properties":{"number":{"type":"integer"}},"required":["number"]}}`, i)
	}
	serve(w, r, `{"tools":[`+strings.Join(tools, ",")+`]}`)
}

func measureLists(ctx context.Context, n int) (figures []figure, err error) {
	all := new(crowd)
	server := httptest.NewServer(all)
	g, err := startGateway(ctx, func(string) string {
		var servers, members []string
		for i := range n {
			servers = append(servers, fmt.Sprintf("  s%d: {url: '%s/s%d', path: none}\n", i, server.URL, i))
			members = append(members, fmt.Sprintf("{name: s%d, prefix: s%d_}", i, i))
		}
		return "servers:\n" + strings.Join(servers, "") +
			"endpoints: {all: {path: /it/mcp, lists: none, servers: [" + strings.Join(members, ", ") + "]}}\n"
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.stop()); server.CloseClientConnections(); server.Close() }()
	c, err := openSession(ctx, g.address)
	if err != nil {
		return nil, err
	}
	reader := &listReader{sessionClient: c, all: all}
	list := reader.list
	list("the first list", true)
	list("a list seconds old", true)
	reader.figures = append(reader.figures, figure{"tools", float64(reader.tools)}, figure{"pages", float64(reader.pages)})
	pause.For(ctx, keptFor)
	list("a list of which all is too old", true)
	pause.For(ctx, keptFor)
	all.hangs.Store(true)
	list("the first list while one hangs", true)
	list("the next", true)
	pause.For(ctx, keptFor)
	list("another, of which all is too old", true)
	all.hangs.Store(false)
	for began := time.Now(); reader.late && reader.err == nil && ctx.Err() == nil; pause.For(ctx, 100*time.Millisecond) {
		list("", false)
		reader.recovered = time.Since(began)
	}
	reader.figures = append(reader.figures, figure{"listed again after its recovery, ms", milliseconds(reader.recovered)})
	return reader.figures, errors.Join(reader.err, ctx.Err())
}

// keptFor is a little more than for how long lists are shown without asking for them again.
const keptFor = 5500 * time.Millisecond

// A listReader reads all pages of lists.
type listReader struct {
	*sessionClient

	all          *crowd
	err          error // then nothing is read any more
	figures      []figure
	tools, pages int
	late         bool // a server has not answered
	recovered    time.Duration
}

// list reads a list. told says that it gives figures.
func (r *listReader) list(name string, told bool) {
	began, asked := time.Now(), r.all.asked.Load()
	r.tools, r.pages, r.late = 0, 0, false
	for params := "{}"; params != "" && r.err == nil; r.pages++ {
		if r.err = r.do(http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":`+params+`}`); r.err != nil {
			return
		}
		var page struct {
			Result struct {
				Tools      []struct{} `json:"tools"`
				NextCursor string     `json:"nextCursor"`
			} `json:"result"`
		}
		r.err = json.Unmarshal(r.said, &page)
		r.tools, r.late = r.tools+len(page.Result.Tools), r.late || bytes.Contains(r.said, []byte(`"outcome":"late"`))
		params = ""
		if page.Result.NextCursor != "" {
			params = fmt.Sprintf(`{"cursor":%q}`, page.Result.NextCursor)
		}
	}
	if told {
		r.figures = append(r.figures, figure{name + ", ms", milliseconds(time.Since(began))},
			figure{"requests upstream", float64(r.all.asked.Load() - asked)})
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
