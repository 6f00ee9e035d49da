package observe

import (
	"context"
	"log/slog"
	"slices"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// Private masks what is reported about a call. It may be kept after the call has ended.
type Private struct {
	Contract  *contract.Contract // of the endpoint; nil: the request was for none
	Entry     func() []string    // returns the secrets of the server's entry
	Tool      *toolcall.Entry
	Arguments []byte
}

// Secrets returns the secrets of the server's entry and of the call, even if its client has gone.
func (p Private) Secrets() []string {
	secrets := slices.Concat(p.Entry(), redact.Arguments(p.Arguments))
	if p.Tool != nil {
		secrets = append(secrets, p.Tool.Secrets(context.Background(), p.Arguments)...)
	}
	return secrets
}

// Mask returns a private cause in the form in which it may be logged.
func (p Private) Mask(err error) slog.LogValuer {
	return masked{err, p}
}

// masked is a private cause for the log: only credentials and the entry's secrets are masked.
type masked struct {
	err error
	by  Private
}

// LogValue masks the text of the error.
func (m masked) LogValue() slog.Value {
	mask := redact.New(redact.Secrets)
	if m.by.Contract != nil { // else there is no entry that has secrets
		mask = mask.Hiding(m.by.Secrets)
	}
	return slog.StringValue(Cut(mask.String(m.err.Error()), maxLogged))
}
