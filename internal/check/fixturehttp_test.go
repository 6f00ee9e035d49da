package check_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ServeHTTP is the fixture over Streamable HTTP.
func (f *fixture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch version := r.Header.Get("Mcp-Protocol-Version"); {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusOK)
		return
	case version != "" && version != "2025-11-25" && f.breaks != "header-checked":
		http.Error(w, "This version is not spoken here.", http.StatusBadRequest)
		return
	}
	if id := r.Header.Get("Mcp-Session-Id"); id != "" && id != "s-1" {
		status := http.StatusNotFound
		if f.breaks == "lost-session" {
			status = http.StatusBadRequest
		}
		http.Error(w, "There is no such session.", status)
		return
	}
	body, _ := io.ReadAll(r.Body)
	if f.breaks == "hang-ups" {
		if left := f.leaves(r); left {
			http.Error(w, "There are no handles left.", http.StatusServiceUnavailable)
			return
		}
	}
	if f.breaks == "slow-beside" {
		f.turn.Lock()
		defer f.turn.Unlock()
	}
	switch text := string(body); {
	case strings.Contains(text, `"order_id":"slow"`):
		w.Header().Set("Content-Type", "text/event-stream")
		var answer strings.Builder
		if f.slowly(text, &answer, f.cancelled); answer.Len() > 0 {
			fmt.Fprintf(w, "data: %s\n", answer.String())
		}
		return
	case strings.Contains(text, "cancelled") && f.breaks != "cancel-running":
		select {
		case f.cancelled <- struct{}{}:
		default:
		}
	}
	answers := f.answer(string(body))
	if len(answers) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Mcp-Session-Id", "s-1")
	_, _ = io.WriteString(w, answers[0])
}
