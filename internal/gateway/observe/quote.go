package observe

import (
	"fmt"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

const (
	// maxQuoted limits how much of a foreign text is kept for the log, and maxLogged how much of it is logged
	// after masking: half a secret would not be recognised as one.
	maxQuoted = 16 << 10
	maxLogged = 4 << 10
	// maxName limits a name from a client.
	maxName = 64
)

// Shown returns the beginning of one of our answers as a model or a program would see it.
func Shown(a contract.Answer) string {
	switch a.Surface {
	case contract.SurfaceResult:
		return Said(a.Result)
	case contract.SurfaceRPC:
		return fmt.Sprintf("JSON-RPC error %d: %s", a.RPCCode, Beginning(a.Message))
	case contract.SurfaceHTTP:
	}
	return fmt.Sprintf("HTTP %d: %s", a.Status, Beginning(string(a.Body)))
}

// Said returns the beginning of what a server's result or error says: its texts, or its JSON if it has none.
func Said(raw []byte) string {
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	_ = json.UnmarshalLenient(raw, &result) // what has no texts is shown as it is
	var texts []string
	for _, block := range result.Content {
		if block.Text != "" {
			texts = append(texts, block.Text)
		}
	}
	if len(texts) == 0 {
		return Beginning(string(raw))
	}
	return Beginning(strings.Join(redact.Joined(texts), "\n"))
}

// Beginning returns the beginning of a foreign text, for the log.
func Beginning(text string) string { return Cut(text, maxQuoted) }

// Cut shortens a text that is longer than most bytes.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " [cut]"
}

// named returns a name from a client in the form in which it may be logged.
func named(name string) string {
	if name == "" {
		return ""
	}
	return redact.New(redact.Secrets).String(Cut(name, maxName))
}
