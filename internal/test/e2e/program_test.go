package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// A program uses an SDK's client, and gets what the SDK returns or throws. It answers "Ada" to every elicitation, and
// "sampled" to every sampling request.
type program interface {
	// connect connects or reconnects; every request carries headers.
	connect(ctx context.Context, url string, headers map[string]string) error
	// setHeaders replaces the headers of later requests in the same session.
	setHeaders(ctx context.Context, headers map[string]string) error
	// launch starts a server on stdio, with environ added to its environment, and connects to it.
	launch(ctx context.Context, command []string, environ map[string]string) error
	// call calls a tool with JSON arguments. A patience of 0 means the SDK's default timeout.
	call(ctx context.Context, tool, arguments string, patience time.Duration) (json.RawMessage, error)
	// request sends any other request; params are JSON, or empty.
	request(ctx context.Context, method, params string) (json.RawMessage, error)
	// subscribe subscribes to changes of the tool list and of this resource, in the way of its era.
	subscribe(ctx context.Context, uri string) error
	// heard returns the notifications so far, each as "method params".
	heard() []string
}

// A client is one of the SDKs in one of the eras.
type client struct {
	name string
	era  testkit.Era
	node sdk.TypeScript // empty: the Go SDK
}

// open starts a program that uses the client.
func (c client) open(tb testing.TB) program {
	tb.Helper()
	if c.node == "" {
		return newGoProgram(tb, c.era.Version())
	}
	return newNodeProgram(tb, c.node, sdk.TSConnect{Era: c.era})
}

// The names of the clients.
const (
	goLegacy = "Go SDK 1.8, 2025-11-25"
	goModern = "Go SDK 1.8, 2026-07-28"
	tsOne    = "TypeScript SDK 1.32, 2025-11-25"
	tsLegacy = "TypeScript client 2.4, 2025-11-25"
	tsModern = "TypeScript client 2.4, 2026-07-28"
)

// clients are all clients that are tested.
func clients() []client {
	return []client{
		{goLegacy, testkit.Legacy, ""},
		{goModern, testkit.Modern, ""},
		{tsOne, testkit.Legacy, sdk.TSv1},
		{tsLegacy, testkit.Legacy, sdk.TSv2},
		{tsModern, testkit.Modern, sdk.TSv2},
	}
}

// A thrown describes an error of an SDK by what a program can distinguish.
type thrown struct {
	Class  string        // of the error, or of the error value that it wraps
	Code   string        // the SDK's code, usually the JSON-RPC code; "" if none
	Status int           // of HTTP; 0 if the program does not get it
	Kind   recourse.Kind // from the record in the error's data; "" if the program does not get it
}

// String describes t in a few words.
func (t thrown) String() string {
	text := "`" + t.Class + "`"
	if t.Code != "" {
		text += ", code `" + t.Code + "`"
	}
	if t.Status != 0 && t.Code != strconv.Itoa(t.Status) {
		text += fmt.Sprintf(", status %d", t.Status)
	}
	if t.Kind != "" {
		text += ", data: the record"
	}
	return text
}

// thrownBy returns what a program can tell from an SDK's error.
func thrownBy(err error) thrown {
	if ts, ok := errors.AsType[*sdk.TSError](err); ok {
		return thrown{Class: ts.Class, Code: ts.Code, Status: ts.Status, Kind: recordKind(ts.Data)}
	}
	return thrownByGo(err)
}

// recordKind returns the kind of the record in an error's data; "" if there is none.
func recordKind(data json.RawMessage) recourse.Kind {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return ""
	}
	if inner, ok := members[recourse.MetaKey]; ok {
		data = inner
	}
	var record struct {
		Version int           `json:"v"`
		Kind    recourse.Kind `json:"kind"`
	}
	if json.Unmarshal(data, &record) != nil || record.Version == 0 {
		return ""
	}
	return record.Kind
}

// contains reports whether heard has a notification of this method with part in its params.
func contains(heard []string, method, part string) bool {
	for _, n := range heard {
		if name, params, _ := strings.Cut(n, " "); name == method && strings.Contains(params, part) {
			return true
		}
	}
	return false
}
