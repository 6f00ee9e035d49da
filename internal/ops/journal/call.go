package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/store"
)

// A Row is a call as the journal describes it. Its JSON form is what the store keeps.
type Row struct {
	Seq int64 `json:"-"` // see [store.Journal.Next]

	RequestID string          `json:"requestId"`
	TraceID   string          `json:"traceId,omitempty"`
	Began     time.Time       `json:"began"`
	Took      Millis          `json:"tookMs"`
	Server    string          `json:"server,omitempty"`
	Contract  string          `json:"contract,omitempty"`
	Method    string          `json:"method,omitempty"`
	Tool      string          `json:"tool,omitempty"` // as the client wrote it
	Name      string          `json:"name,omitempty"` // of the requested prompt or resource
	Nature    string          `json:"nature,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Access    string          `json:"access,omitempty"` // how the caller was verified
	Caller    string          `json:"caller,omitempty"`
	Org       string          `json:"org,omitempty"`
	User      string          `json:"user,omitempty"` // from the path
	Peer      string          `json:"peer,omitempty"` // the address that the request came from
	Ending    string          `json:"ending"`
	Status    int             `json:"status,omitempty"` // the HTTP status for the client
	Bytes     int64           `json:"bytes,omitempty"`
	Attempts  []Attempt       `json:"attempts,omitempty"`
	Sent      int             `json:"sent"`                  // number of attempts; at most 16 are listed
	Final     string          `json:"notRepeated,omitempty"` // why it was not repeated
	Once      string          `json:"once,omitempty"`        // what became of it, if it is made once
	First     string          `json:"first,omitempty"`       // the request that had sent it before
	Late      string          `json:"late,omitempty"`        // what the server's answer was, which came after the end; see [observe.Late]
	Failure   *recourse.Error `json:"failure,omitempty"`     // as the client got it or, with Line, as it looks
	Line      string          `json:"line,omitempty"`        // of the configuration, which would have had it told; "": it was told
	Observed  bool            `json:"observed,omitempty"`    // the failure was passed on unchanged
	Cause     string          `json:"cause,omitempty"`
}

// An Attempt is one request to the server.
type Attempt struct {
	After   Millis        `json:"afterMs"`          // relative to the beginning of the call
	Wait    Millis        `json:"waitMs,omitempty"` // that was decided on before it
	Took    Millis        `json:"tookMs"`
	Status  int           `json:"status,omitempty"`
	Failure recourse.Kind `json:"failure,omitempty"`
	Reason  string        `json:"reason,omitempty"` // why there was another attempt, or none
}

// Ended returns when the call ended.
func (c *Row) Ended() time.Time { return c.Began.Add(time.Duration(c.Took)) }

// Millis is a duration, in JSON as a number of milliseconds with up to three decimals.
type Millis time.Duration

// MarshalJSON implements [json.Marshaler].
func (m Millis) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(time.Duration(m).Microseconds()) / 1000)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Millis) UnmarshalJSON(raw []byte) error {
	var ms float64
	if err := json.Unmarshal(raw, &ms); err != nil {
		return fmt.Errorf("read a duration: %w", err)
	}
	*m = Millis(math.Round(ms*1000) * float64(time.Microsecond))
	return nil
}

// failed reports whether a call failed in a way that its client did not ask for: clients use some failures to
// find out that a server is of the legacy era.
func failed(o *observe.Outcome) bool {
	return o.Record != nil && (o.Method != wire.MethodDiscover || o.Record.Kind.Class() == recourse.ClassUpstream)
}

// Assumed is the nature of a tool that is only assumed to write, since nobody says what it does.
const Assumed = observe.Assumed

// callOf returns the part of a call that is kept.
func callOf(o *observe.Outcome, arguments config.Arguments) *Row {
	c := &Row{
		RequestID: o.ID, TraceID: o.TraceID(), Began: o.Began.UTC(), Took: Millis(o.Took), Server: o.Server, Contract: o.Contract,
		Method: o.Method, Access: o.Caller.Access, Caller: o.Caller.Name, Org: o.Caller.Org, User: o.User, Peer: o.Peer,
		Ending: o.End, Status: o.Status, Bytes: o.Bytes, Sent: o.Sent, Final: o.Reason, Once: o.Once, First: o.First, Observed: o.Observed,
		Cause:   o.Cause(),
		Failure: keptRecord(o, arguments),
	}
	if o.Seeming != nil {
		c.Line = o.Seeming.Line
	}
	if o.Method == wire.MethodToolsCall {
		c.Tool, c.Nature = cut(o.Name), o.NatureText()
	} else {
		c.Name = redact.Log(cut(o.Name))
	}
	if arguments != config.ArgumentsOff {
		c.Arguments = o.Arguments(arguments == config.ArgumentsMasked)
	}
	for i, a := range o.Attempts {
		c.Attempts = append(c.Attempts, Attempt{
			After: Millis(a.Began.Sub(o.Began)), Wait: Millis(a.Wait), Took: Millis(a.Took), Status: a.Status, Failure: a.Failure,
			Reason: a.Reason,
		})
		if i == len(o.Attempts)-1 && a.Reason == o.Reason {
			c.Attempts[i].Reason = "" // it is in Final
		}
	}
	return c
}

// cut shortens a name from a client.
func cut(name string) string {
	const most = 256
	if len(name) > most {
		return name[:most] + "..."
	}
	return name
}

// keptRecord returns a call's record without the arguments that must not be kept.
func keptRecord(o *observe.Outcome, arguments config.Arguments) *recourse.Error {
	record := o.Record
	if record == nil && o.Seeming != nil {
		record = o.Seeming.Error
	}
	if record == nil || arguments == config.ArgumentsMasked && o.ShowsArguments() {
		return record
	}
	return record.With(func(r *recourse.Error) {
		r.Violations = slices.Clone(r.Violations)
		for i := range r.Violations {
			r.Violations[i].Got = nil
		}
		if r.Verify != nil && arguments != config.ArgumentsMasked {
			verify := *r.Verify
			verify.Args = nil
			r.Verify = &verify
		}
	})
}

// Entry returns a call's row.
func (c *Row) Entry(seq int64) *store.Entry {
	story, err := json.Marshal(c)
	if err != nil { // of a record with a member that has no JSON form
		story = []byte("{}")
	}
	e := &store.Entry{
		Seq: seq, RequestID: c.RequestID, Began: c.Began, Took: time.Duration(c.Took), Server: c.Server, Tool: c.Tool, Method: c.Method,
		Access: c.Access, Caller: c.Caller, Org: c.Org, Ending: c.Ending, Attempts: c.Sent, TraceID: c.TraceID, Story: string(story),
	}
	if f := c.Failure; f != nil {
		e.Kind, e.Code, e.Origin, e.Effect, e.Message = string(f.Kind), f.Code, string(f.Origin), string(f.Effect), f.Sentence()
	}
	return e
}

// Find returns the latest calls that match a filter, oldest first.
func Find(ctx context.Context, rows *store.Journal, f *store.Filter) ([]*Row, error) {
	return read(rows.Find(ctx, f))
}

// Of returns the calls with a request id, oldest first. There may be several: clients may choose the id.
func Of(ctx context.Context, rows *store.Journal, requestID string) ([]*Row, error) {
	return read(rows.Of(ctx, requestID))
}

// A Page is a [store.Page] with calls in place of entries.
type Page struct {
	Calls  []*Row
	More   bool
	Counts []store.Count
	Since  time.Time
	Back   int64
}

// Failures returns a page of failures.
func Failures(ctx context.Context, rows *store.Journal, f *store.Filter) (*Page, error) {
	page, err := rows.Page(ctx, f)
	if err != nil {
		return nil, err
	}
	calls, err := read(page.Entries, nil)
	return &Page{calls, page.More, page.Counts, page.Since, page.Back}, err
}

// read returns the calls of rows.
func read(entries []*store.Entry, err error) ([]*Row, error) {
	if err != nil {
		return nil, err
	}
	calls := make([]*Row, len(entries))
	for i, e := range entries {
		calls[i] = &Row{Seq: e.Seq}
		if err := json.Unmarshal([]byte(e.Story), calls[i]); err != nil {
			return nil, fmt.Errorf("read call %q of the journal: %w", e.RequestID, err)
		}
	}
	return calls, nil
}
