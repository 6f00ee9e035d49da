package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// A Tape has what services answered in one run, to answer for them in later ones, without the network. It is a file of lines of
// JSON, and has no credentials: they are masked in it, and of headers only those are kept that say what a body is, and how long to wait.
type Tape struct {
	playing bool // it was there

	mu    sync.Mutex
	file  *os.File // that is written; nil: its answers are played
	found map[string][]*recorded
}

// recorded is a line of a tape: a request and its answer.
type recorded struct {
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Sent   string            `json:"sent,omitempty"`
	Status int               `json:"status"`
	Head   map[string]string `json:"headers,omitempty"`
	Body   string            `json:"body"`
}

// keptHeaders are those of an answer that a tape keeps.
var keptHeaders = []string{"Content-Type", "Retry-After", "Location", "Link"}

// maxBody is how many bytes of a body are kept.
const maxBody = 4 << 20

// OpenTape opens the tape of that name. One that is not there is recorded.
func OpenTape(name string) (*Tape, error) {
	text, err := os.ReadFile(filepath.Clean(name))
	if errors.Is(err, os.ErrNotExist) {
		file, err := os.OpenFile(filepath.Clean(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		return &Tape{file: file}, err
	}
	if err != nil {
		return nil, err
	}
	t := &Tape{playing: true, found: map[string][]*recorded{}}
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var r recorded
		if err := json.Unmarshal(line, &r); len(line) > 0 && (err != nil || r.Status < 100 || r.Status > 999) {
			return nil, fmt.Errorf("%s: line %d is no recorded answer", name, i+1)
		}
		t.found[r.key()] = append(t.found[r.key()], &r)
	}
	return t, nil
}

func (r *recorded) key() string { return r.Method + " " + r.URL + "\n" + r.Sent }

// requestOf returns what a tape keeps of a request, whose body has been read.
func requestOf(r *http.Request, sent []byte) *recorded {
	mask := redact.New(redact.Secrets)
	return &recorded{Method: r.Method, URL: mask.String(r.URL.String()), Sent: string(mask.JSON(sent))}
}

// play answers a request as it was answered when the tape was made. If it was made more than once, the answers come in their order,
// and the last one from then on.
func (t *Tape) play(w http.ResponseWriter, request *recorded) {
	t.mu.Lock()
	answers := t.found[request.key()]
	if len(answers) > 1 {
		t.found[request.key()] = answers[1:]
	}
	t.mu.Unlock()
	if len(answers) == 0 {
		http.Error(w, "recourse check: the recording has no answer to "+request.Method+" "+request.URL, http.StatusBadGateway)
		return
	}
	for name, value := range answers[0].Head {
		w.Header().Set(name, value)
	}
	w.WriteHeader(answers[0].Status)
	_, _ = io.WriteString(w, answers[0].Body) // if it is gone, nobody needs it
}

// keep writes a request with its answer.
func (t *Tape) keep(request *recorded, resp *http.Response, body []byte) error {
	mask := redact.New(redact.Secrets)
	request.Status, request.Head = resp.StatusCode, map[string]string{}
	for _, name := range keptHeaders {
		if value := resp.Header.Get(name); value != "" {
			request.Head[name] = mask.String(value)
		}
	}
	if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		request.Body = string(mask.JSON(body))
	} else {
		request.Body = mask.String(string(body))
	}
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err = t.file.Write(append(line, '\n'))
	return err
}
