package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/ops/admin"
)

// scrapes are answers of /metrics after every tool, a hundred of each server, has been called twice: once it failed.
var scrapes = subject{name: "metrics", of: "tools", sizes: []int{100, 1000, 10_000, 100_000}, most: 1_000_000, measure: measureScrapes}

func measureScrapes(ctx context.Context, n int) ([]figure, error) {
	a := admin.New("v0", admin.Sources{})
	for i := range n {
		o := &observe.Outcome{
			Server: fmt.Sprint("server-", i/100), Tool: fmt.Sprint("tool-", i), Method: "tools/call",
			Took: time.Millisecond, Attempts: []observe.Attempt{{Took: time.Millisecond}},
		}
		a.Ended(o)
		o.Record = recourse.New(recourse.KindTimeout, "")
		a.Ended(o)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, began := httptest.NewRecorder(), time.Now()
	a.Handler().ServeHTTP(answer, r)
	return []figure{
		{"a scrape, KB", float64(answer.Body.Len()) / 1000},
		{"and how long it takes, ms", float64(time.Since(began).Microseconds()) / 1000},
	}, nil
}
