package record

import (
	"bytes"
	"time"

	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// format and version are what the first line of a recording begins with.
const (
	format  = "recourse recording"
	version = 1
)

// maxMessage is how many bytes of one message are kept: what is not examined for secrets is not written.
const maxMessage = redact.MaxText

// first is the line with which a session begins.
type first struct {
	Format    string    `json:"format"`
	Version   int       `json:"version"`
	In        string    `json:"in"`        // what the session's lines are marked with
	Transport string    `json:"transport"` // stdio or http
	Server    string    `json:"server"`    // its command or URL
	Started   time.Time `json:"started"`
	Masked    []string  `json:"masked"` // the marks that stand for what was left out
}

// The sides of a session.
const (
	client = "client"
	server = "server"
)

// fileEntry is any other line. Without message, text and end, it is the head of an HTTP answer whose events, if any, follow.
type fileEntry struct {
	At      float64           `json:"at"` // seconds since the session started
	In      string            `json:"in"` // the session; over HTTP, with the number of the exchange
	From    string            `json:"from"`
	HTTP    string            `json:"http,omitzero"` // the method of a request
	Status  int               `json:"status,omitzero"`
	Headers map[string]string `json:"headers,omitzero"`
	Message json.Value        `json:"message,omitzero"`
	Text    string            `json:"text,omitzero"`    // what is no JSON object
	LeftOut int               `json:"leftOut,omitzero"` // the size of a message that is too large
	End     string            `json:"end,omitzero"`     // how the process or the exchange ended
}

// say puts a text into the entry.
func (e *fileEntry) say(text []byte, size int) {
	text = bytes.TrimSpace(text)
	switch {
	case size > maxMessage:
		e.LeftOut = size
	case len(text) > 0 && text[0] == '{' && json.Valid(text):
		e.Message = json.Compact(text)
	default:
		e.Text = string(text)
	}
}

// spoken is what is looked at of a message.
type spoken struct {
	ID     json.Value `json:"id"`
	Method string     `json:"method"`
	Params json.Value `json:"params"`
	Result json.Value `json:"result"`
	Error  json.Value `json:"error"`
}

// read reads a message. What is not one is empty.
func read(text []byte) (s spoken) {
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '{' || json.UnmarshalLenient(text, &s) != nil {
		return spoken{}
	}
	if string(s.ID) == "null" {
		s.ID = nil
	}
	return s
}

// asks reports whether it is a request.
func (s *spoken) asks() bool { return s.Method != "" && s.ID != nil }

// answers reports whether it is a response.
func (s *spoken) answers() bool { return s.Method == "" && (s.Result != nil || s.Error != nil) }

// token returns the progress token of a request or of a progress notification.
func (s *spoken) token() json.Value {
	if s.ID != nil {
		return json.Lookup(s.Params, "/_meta/progressToken")
	}
	return json.Lookup(s.Params, "/progressToken")
}
