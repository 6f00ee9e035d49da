package record

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/privacy/secret"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// maxSecrets is how many secrets of calls are looked for in later messages.
const maxSecrets = 1000

// mask leaves out credentials and connection strings. The player masks what its client says in the same way, so that it can be
// compared.
type mask struct {
	mu      sync.Mutex
	secrets []string
	masker  *redact.Masker
}

// newMask returns a mask that also looks for these secrets.
func newMask(secrets []string) *mask {
	m := &mask{}
	m.add(secrets)
	return m
}

// add makes it look for more secrets.
func (m *mask) add(secrets []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.masker != nil && (len(secrets) == 0 || len(m.secrets) >= maxSecrets) {
		return
	}
	m.secrets = append(slices.Clip(m.secrets), secrets...)
	all := m.secrets
	m.masker = redact.New(redact.Secrets).Hiding(func() []string { return all })
}

// addHeader makes it look for the credentials of an HTTP request.
func (m *mask) addHeader(header http.Header) {
	var secrets []string
	for name, values := range header {
		for _, value := range values {
			if secret.Name(name) {
				_, credentials, ok := strings.Cut(value, " ")
				if !ok {
					credentials = value
				}
				secrets = append(secrets, credentials)
			}
		}
	}
	m.add(secrets)
}

func (m *mask) with() *redact.Masker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.masker
}

// text masks a text.
func (m *mask) text(s string) string { return m.with().String(s) }

// message masks a message of either side. The secrets among a call's arguments are looked for in all that follows.
func (m *mask) message(raw json.Value, from string) json.Value {
	if from == client {
		s := read(raw)
		m.add(redact.Arguments(json.Lookup(s.Params, "/arguments")))
	}
	masked, ok := m.with().Document(raw)
	if !ok {
		return nil
	}
	return masked
}
