package inject_test

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// program answers each request with its id, and counts the requests.
func program(in io.Reader, out io.WriteCloser, requests *int) {
	defer out.Close()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		_, after, ok := strings.Cut(line, `"id":`)
		if !ok {
			continue
		}
		id, _, _ := strings.Cut(after, ",")
		*requests++
		_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n")
	}
}

// The client's view of a program with a failing call, and whether the program has received it.
func TestRelay(t *testing.T) {
	t.Parallel()

	const (
		call   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order_create","arguments":{"reference":"A-17"}}}`
		second = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"order_create","arguments":{"reference":"A-17"}}}`
		done   = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}`
		well   = `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"done"}]}}`
	)
	tests := []struct {
		fault    string
		requests int
		want     []string
	}{
		{"hang", 1, []string{well}},
		{"hang, effect: after", 2, []string{well}},
		{"{drip: 1s}", 2, []string{done, well}},
		{"truncate", 2, []string{done[:len(done)/2], well}},
		{"wrong-id", 2, []string{strings.Replace(done, `"id":1`, `"id":"no-such-request"`, 1), well}},
		{"twice", 2, []string{done, done, well}},
		{"garbage", 2, []string{"Listening for requests ...", done, well}},
		{"exit", 0, nil},
		{"exit, effect: after", 1, nil},
		{"{error-text: No.}", 1, []string{strings.Replace(done, "done", "No.", 1), well}},
		{"{error-text: No.}, effect: after", 2, []string{strings.Replace(done, "done", "No.", 1), well}},
	}
	for _, test := range tests {
		testkit.Virtual(t, test.fault, func(t *testing.T) {
			injector := inject.New(plan(t, inject.Stdio, "rules: [{times: 1, fault: "+test.fault+"}]"))
			clientIn, toRelay := io.Pipe()
			fromRelay, clientOut := io.Pipe()
			serverIn, toServer := io.Pipe()
			fromServer, serverOut := io.Pipe()
			requests := 0
			go program(serverIn, serverOut, &requests)
			relay := &inject.Relay{
				Injector: injector, FromClient: clientIn, ToClient: clientOut, FromServer: fromServer, ToServer: toServer,
				Exit: func() { _ = serverIn.Close(); _ = serverOut.Close() },
			}
			ended := make(chan error, 1)
			go func() {
				ended <- relay.Run(context.Background())
				_ = clientOut.Close()
			}()
			var got []string
			read := make(chan struct{})
			go func() {
				defer close(read)
				for lines := bufio.NewScanner(fromRelay); lines.Scan(); {
					got = append(got, lines.Text())
				}
			}()
			wrote := make(chan struct{})
			go func() { // a relay that has ended reads nothing
				defer close(wrote)
				for _, line := range []string{call, second} {
					_, _ = io.WriteString(toRelay, line+"\n")
					time.Sleep(time.Hour)
				}
				_ = toRelay.Close()
			}()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			<-read
			_ = clientIn.Close()
			<-wrote
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if requests != test.requests || injector.Ledger().Reached("order_create", "") != requests {
				t.Errorf("%d requests: %+v", requests, injector.Ledger())
			}
		})
	}
}

// A program that takes time to exit receives nothing more.
func TestNothingAfterAnExit(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "slow", func(t *testing.T) {
		fromServer, serverOut := io.Pipe()
		serverIn, toServer := io.Pipe()
		requests := 0
		go program(serverIn, serverOut, &requests)
		const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s"}}` + "\n"
		relay := &inject.Relay{
			Injector:   inject.New(plan(t, inject.Stdio, "rules: [{match: {tool: order_create}, fault: exit}]")),
			FromClient: strings.NewReader(strings.Replace(call, "%s", "order_create", 1) + strings.Replace(call, "%s", "echo", 1)),
			ToClient:   io.Discard, FromServer: fromServer, ToServer: toServer, Exit: func() {},
		}
		if err := relay.Run(t.Context()); err != nil || requests != 0 {
			t.Errorf("%d requests: %v", requests, err)
		}
	})
}
