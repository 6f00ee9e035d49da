package journaltools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/ops/explain"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/internal/store"
)

const (
	defaultLimit = 20
	maxLimit     = 100
	maxMessage   = 300      // bytes of a failure's message in the list
	maxList      = 24 << 10 // bytes of a list's text
)

// filterArgs choose failures.
type filterArgs struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Kind   string `json:"kind"`
	Origin string `json:"origin"`
	Caller string `json:"caller"`
	Since  string `json:"since"`
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

// failuresSchema is the inputSchema of recourse_failures.
func failuresSchema() *jsonschema.Schema {
	name := func(of string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: isString, Description: of, MaxLength: new(128)}
	}
	kind, origin := name("Only failures of this kind."), name("Only failures of the one at fault.")
	for _, k := range recourse.Kinds() {
		kind.Enum = append(kind.Enum, k)
	}
	origin.Enum = []any{recourse.OriginCaller, recourse.OriginGateway, recourse.OriginServer, recourse.OriginProvider}
	return &jsonschema.Schema{
		Type: "object", AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		Properties: map[string]*jsonschema.Schema{
			"server": name("Only calls of this server, by its name in the gateway's configuration."),
			"tool":   name("Only calls of this tool."),
			"kind":   kind,
			"origin": origin,
			"caller": name("Only calls of this caller or organisation."),
			"since":  name("Only calls that ended since then: 30m, 12h, 7d, or a time such as 2026-11-23T10:00:00Z."),
			"limit": {
				Type: "integer", Minimum: new(1.0), Maximum: new(float64(maxLimit)), Default: fmt.Append(nil, defaultLimit),
				Description: "How many at most.",
			},
			"cursor": name("To go on where a list ended: its nextCursor, with the same filters."),
		},
	}
}

const isString = "string"

// A failureList is a list for programs.
type failureList struct {
	Failures   []failureLine `json:"failures" jsonschema:"the latest first"`
	NextCursor string        `json:"nextCursor,omitempty" jsonschema:"there are more: call again with this as cursor"`
}

// A failureLine is a call that failed.
type failureLine struct {
	RequestID string  `json:"requestId" jsonschema:"what recourse_explain takes"`
	Ended     string  `json:"ended"`
	Server    string  `json:"server,omitempty"`
	Tool      string  `json:"tool,omitempty"`
	Method    string  `json:"method,omitempty"`
	Caller    string  `json:"caller,omitempty"`
	Kind      string  `json:"kind"`
	Code      string  `json:"code,omitempty" jsonschema:"the contract's word for it"`
	Origin    string  `json:"origin" jsonschema:"who is at fault"`
	Effect    string  `json:"effect,omitempty" jsonschema:"whether the call has changed anything"`
	Attempts  int     `json:"attempts" jsonschema:"how often it was sent to the server"`
	TookMS    float64 `json:"tookMs"`
	Message   string  `json:"message" jsonschema:"as the client was told"`
}

// failures lists calls that failed.
func (t *tools) failures(ctx context.Context, _ *mcp.CallToolRequest, in filterArgs) (*mcp.CallToolResult, failureList, error) {
	none := failureList{}
	var since time.Time
	if in.Since != "" {
		var ok bool
		if since, ok = journal.When(in.Since, t.now()); !ok {
			return nil, none, recourse.InvalidValue("since", "30m, 12h, 7d, or a time such as 2026-11-23T10:00:00Z", in.Since)
		}
	}
	before, err := position(in.Cursor)
	if err != nil {
		return nil, none, recourse.InvalidValue("cursor", "the nextCursor of a list", in.Cursor)
	}
	limit := cmp.Or(in.Limit, defaultLimit)
	calls, err := journal.Find(ctx, t.Journal, &store.Filter{
		Server: in.Server, Tool: in.Tool, Kind: in.Kind, Origin: in.Origin, Caller: in.Caller, Since: since, Before: before,
		Failures: true, Limit: limit + 1,
	})
	if err != nil {
		return nil, none, readFailure(err)
	}
	slices.Reverse(calls)
	list, told := list(calls, limit)
	return text(told), list, nil
}

// list returns the calls for programs and for agents: up to limit, as long as the text stays small.
func list(calls []*journal.Row, limit int) (failureList, string) {
	l := failureList{Failures: []failureLine{}}
	var b strings.Builder
	for i, c := range calls {
		line := lineOf(c)
		said := line.String()
		if i == limit || b.Len()+len(said) > maxList {
			l.NextCursor = strconv.FormatInt(calls[i-1].Seq, 36)
			break
		}
		l.Failures = append(l.Failures, line)
		b.WriteString(said)
	}
	switch n := len(l.Failures); {
	case n == 0:
		return l, "The journal has no such failures."
	case l.NextCursor != "":
		fmt.Fprintf(&b, "\nThere are more: call again with cursor=%q and the same filters.", l.NextCursor)
	}
	return l, "The latest first. recourse_explain with request_id tells what happened to a call.\n\n" + b.String()
}

func position(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	return strconv.ParseInt(cursor, 36, 64)
}

// lineOf returns a call as a line of the list. What its texts hide is visible.
func lineOf(c *journal.Row) failureLine {
	l := failureLine{
		RequestID: c.RequestID, Ended: c.Ended().UTC().Format(time.RFC3339), Server: visible.Escape(c.Server),
		Tool: visible.Escape(c.Tool), Caller: visible.Escape(c.Caller), Attempts: c.Sent,
		TookMS: float64(time.Duration(c.Took).Microseconds()) / 1000,
	}
	if c.Tool == "" {
		l.Method = visible.Escape(c.Method)
	}
	if f := c.Failure; f != nil {
		l.Kind, l.Code, l.Origin, l.Effect = string(f.Kind), visible.Escape(f.Code), string(f.Origin), string(f.Effect)
		l.Message = short(f.Sentence())
	}
	return l
}

// String returns the line for agents.
func (l failureLine) String() string {
	effect := ""
	if l.Effect != "" {
		effect = ", effect " + l.Effect
	}
	return fmt.Sprintf("%s  %s  %s %s  %s, by the %s%s, sent %d x, took %s\n    %s\n", l.Ended, l.RequestID, cmp.Or(l.Server, "-"),
		cmp.Or(l.Tool, l.Method, "-"), l.Kind, l.Origin, effect, l.Attempts,
		explain.Took(journal.Millis(l.TookMS*float64(time.Millisecond))), l.Message)
}

// short returns a text as one line of limited length, with invisible characters escaped.
func short(s string) string {
	s = visible.Escape(strings.Join(strings.Fields(s), " "))
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + " ..."
	}
	return s
}

// readFailure is the failure of a store that cannot be read.
func readFailure(err error) error {
	return recourse.Unavailable("The journal").CausedBy(err).WithOrigin(recourse.OriginGateway)
}
