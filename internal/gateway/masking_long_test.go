package gateway_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// A log message that is too long to be masked does not reach the client; later ones do.
func TestLongNotificationIsDropped(t *testing.T) {
	t.Parallel()
	const long = 20 << 10
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	note := `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` +
		strings.Repeat("a line. ", long/8) + `password=` + leak + `"}}` + "\n\n"
	last := `data: {"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}` + "\n\n"
	url := serveRaw(t, text(head+note+last))
	for mode, want := range map[string]bool{"all": false, "off": true} {
		f := startConfig(t, "decide_within: 4KiB\nservers: {farm: {url: '"+url+"', redact: "+mode+"}}\n")
		a, err := f.Client(t, testkit.Modern).Call(t.Context(), "any", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		var shown strings.Builder
		for _, e := range a.Events {
			shown.WriteString(e.Data)
		}
		shown.Write(a.Body)
		if got := strings.Contains(shown.String(), leak); got != want {
			t.Errorf("redact %s: secret shown: got %t, want %t", mode, got, want)
		}
		if got := strings.Contains(shown.String(), "a line."); got != want {
			t.Errorf("redact %s: a part of the message shown: got %t, want %t", mode, got, want)
		}
		if !strings.Contains(shown.String(), `"done"`) {
			t.Errorf("redact %s: got %s, want an answer", mode, shown.String())
		}
		if got := strings.Contains(f.Log.String(), "a notification was dropped"); got == want {
			t.Errorf("line about a dropped notification: got %t", got)
		}
	}
}

// Arguments that the schema marks as secrets are masked where a server repeats them.
func TestSecretArgumentsBySchema(t *testing.T) {
	t.Parallel()
	const definition = `{"name":"search","inputSchema":{"type":"object","properties":{"note":{"type":"string"},
		"door":{"type":"string","writeOnly":true},"word":{"type":"string","format":"password"}}}}`
	srv := testkit.NewServer(t, testkit.WithTools(testkit.Tool{Name: "search", Definition: definition}))
	srv.Always("search", faults.ToolError("echo", "no field for opn-ses-me, nor for melone, in the north"))
	f := gatewaytest.Start(t, srv.URL())
	a, err := f.Client(t, testkit.Modern).Call(t.Context(), "search", `{"note":"north","door":"opn-ses-me","word":"melone"}`)
	if err != nil {
		t.Fatal(err)
	}
	shown := string(a.Body) + f.Log.String()
	if strings.Contains(shown, "opn-ses-me") || strings.Contains(shown, "melone") || !strings.Contains(shown, "in the north") {
		t.Errorf("got %s, want only the arguments door and word masked", shown)
	}
}

// The same holds for notifications on a GET stream.
func TestLongNotificationOfGetStreamIsDropped(t *testing.T) {
	t.Parallel()
	const method = "notifications/message"
	long := `{"jsonrpc":"2.0","method":"` + method + `","params":{"level":"info","data":"` +
		strings.Repeat("a line. ", 2500) + `password=` + leak + `"}}`
	short := `{"jsonrpc":"2.0","method":"` + method + `","params":{"level":"info","data":"done"}}`
	for mode, want := range map[string]string{"all": short, "off": long} {
		t.Run("redact "+mode, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			f := startConfig(t, "decide_within: 4KiB\nservers: {farm: {url: '"+srv.URL()+"', redact: "+mode+"}}\n")
			stream, err := f.Client(t, testkit.Legacy).Listen(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			srv.Notify(long)
			srv.Notify(short)
			if event, err := stream.Next(); err != nil || event.Data != want {
				t.Errorf("got %v, %d bytes that begin with %.80q, want %d bytes", err, len(event.Data), event.Data, len(want))
			}
			if got := strings.Contains(f.Log.String(), "a notification was dropped"); got != (mode == "all") {
				t.Errorf("line about a dropped notification: got %t", got)
			}
		})
	}
}
