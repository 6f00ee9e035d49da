package gatewaytest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Orders describes the API of a provider.
const Orders = `
openapi: 3.0.3
info: {title: Orders, version: "1"}
paths:
  /orders:
    get:
      operationId: orders/list
      summary: List the orders
      parameters:
      - {name: status, in: query, schema: {type: array, items: {type: string, enum: [open, done]}}}
      - {name: page, in: query, schema: {type: integer, minimum: 1}}
      responses: {"200": {description: fine}}
    post:
      operationId: orders/create
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [item, id]
              properties:
                id: {type: string, readOnly: true}
                item: {type: string}
                count: {type: integer, minimum: 0, exclusiveMinimum: true, nullable: true}
      responses: {"201": {description: made}}
  /orders/{id}:
    parameters:
    - {name: id, in: path, required: true, schema: {type: string}}
    get: {operationId: orders/get, responses: {"200": {description: fine}}}
    put:
      operationId: orders/put
      requestBody: {content: {application/json: {schema: {type: array, items: {type: string}}}}}
      responses: {"200": {description: fine}}
    delete: {operationId: orders/delete, responses: {"204": {description: gone}}}
  /payments:
    post:
      operationId: pay
      parameters:
      - {name: Idempotency-Key, in: header, required: true, schema: {type: string}}
      - {name: X-Api-Key, in: header, schema: {type: string}}
      responses: {"201": {description: made}}
components:
  securitySchemes:
    key: {type: apiKey, name: X-Api-Key, in: header}
`

// An API answers over HTTP in memory, and records its requests.
type API struct {
	URL  string
	Sent []*http.Request // so far; to be read when none is under way

	answer func(w http.ResponseWriter, r *http.Request)
	mu     sync.Mutex
	bodies []string
}

// StartProvider serves an API that answers by calling answer.
func StartProvider(tb testing.TB, answer func(w http.ResponseWriter, r *http.Request)) *API {
	tb.Helper()
	p := &API{answer: answer}
	p.URL = testkit.ServeInMemory(tb, p)
	return p
}

// ServeHTTP records a request and answers it.
func (p *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what arrived counts
	p.mu.Lock()
	p.Sent, p.bodies = append(p.Sent, r), append(p.bodies, string(body))
	p.mu.Unlock()
	p.answer(w, r)
}

// Requests returns the requests received so far, one per line.
func (p *API) Requests() (lines []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.Sent {
		lines = append(lines, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+p.bodies[i]))
	}
	return lines
}

// StartAPI starts a gateway in front of an API, as the server farm. keys are lines of the API's entry.
func StartAPI(tb testing.TB, p *API, description string, keys ...string) *Front {
	tb.Helper()
	return startAPI(tb, p, description, gateway.Reach{Pause: 1}, "", keys)
}

// StartAPIOnce is [StartAPI] for a gateway that remembers calls in s.
func StartAPIOnce(tb testing.TB, p *API, description string, s once.Store, keys ...string) *Front {
	tb.Helper()
	return startAPI(tb, p, description, gateway.Reach{Pause: 1, Once: s}, "store: sqlite:unused.db\n", keys)
}

func startAPI(tb testing.TB, p *API, description string, reach gateway.Reach, top string, keys []string) *Front {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "api.yaml")
	if err := os.WriteFile(file, []byte(description), 0o600); err != nil {
		tb.Fatal(err)
	}
	if !strings.Contains(strings.Join(keys, "\n"), "operations:") {
		keys = append(keys, "operations: [{}]")
	}
	yaml := top + fmt.Sprintf("servers:\n  farm:\n    openapi: %q\n    base_url: %q\n    %s\n", file, p.URL+"/v1", strings.Join(keys, "\n    "))
	g, log := NewReaching(tb, reach, yaml)
	return &Front{Open(tb, g, true) + Path, g, log}
}
