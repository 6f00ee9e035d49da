package openapi

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// maxTools limits the operations that are offered: as many as the gateway accepts from a server.
const maxTools = 2000

// An API is what a description offers as tools. It is immutable, and safe for concurrent use.
type API struct {
	Title   string
	Version string
	Base    string // URL before the paths, without a trailing slash
	Tools   []*Offer
	Total   int // operations in the description

	digest [sha256.Size]byte
}

// Same reports whether both offer the same tools. Either may be nil.
func (a *API) Same(other *API) bool {
	if a == nil || other == nil {
		return a == other
	}
	return a.digest == other.digest
}

// An Offer is an operation that is offered. It is immutable.
type Offer struct {
	Name         string
	Method       string
	Path         string // as spelled in the description
	Summary      string
	InputSchema  json.Value
	OutputSchema json.Value // nil: none is declared
	ReadOnly     bool       // it changes nothing
	Idempotent   bool       // doing it twice has the effect of doing it once
	Keyed        bool       // the provider recognises a repetition by its Idempotency-Key
	Timeout      time.Duration

	// What the route says, which overrides the method.
	RouteReadOnly, RouteIdempotent *bool

	params []*param
	body   *payload
	accept string
	paths  []string // of all operations of the description, offered or not
}

// Options say what to make of a description.
type Options struct {
	Routes  []Route
	BaseURL string            // overrides the description's servers
	Source  *url.URL          // where the description comes from, if that is a URL
	Headers map[string]string // set by the entry
	Query   map[string]string // set by the entry
	Trusted bool              // what the description says about answers is believed
}

// A Problem is a reason why a description is not offered.
type Problem struct {
	Route   int // the route that it is about; -1: none
	Message string
	Hint    string
}

// inLine returns a text on one line, with hidden characters escaped.
func inLine(text string) string { return visible.Escape(strings.Join(strings.Fields(text), " ")) }

// maxProblems limits the problems that are reported at once.
const maxProblems = 10

// A builder makes the tools of one description.
type builder struct {
	Options

	doc      *document
	set      map[string]bool // parameters that the entry sets, or that are security schemes
	problems []Problem
	at       string                // the URL of the API
	usual    int                   // usual size of a tool's schema, in bytes
	taken    map[string]*operation // by the name of the tool
	paths    []string              // of all operations
}

// Compile returns the tools of a description, or the reasons why there are none.
func Compile(text []byte, opts Options) (*API, []Problem) {
	doc, err := parse(text)
	if err != nil {
		return nil, []Problem{{Route: -1, Message: err.Error()}}
	}
	b := newBuilder(doc, opts)
	api := &API{Title: doc.title, Version: doc.version, Total: len(doc.operations), Base: b.at}
	b.routes()
	for ; ; b.usual /= 2 {
		if api.Tools = b.tools(); len(b.problems) > 0 || b.usual <= leastBudget || sizeOf(api.Tools) <= maxSchemas {
			break
		}
	}
	if len(api.Tools) == 0 && len(b.problems) == 0 {
		b.problem(-1, "no operation is offered: "+b.offers(), "add a route to `operations`, such as `{methods: [GET]}`")
	}
	if len(b.problems) > 0 {
		return nil, b.problems
	}
	slices.SortFunc(api.Tools, func(a, b *Offer) int { return strings.Compare(a.Name, b.Name) })
	api.digest = digest(text, opts)
	return api, nil
}

func newBuilder(doc *document, opts Options) *builder {
	b := &builder{Options: opts, doc: doc, set: map[string]bool{}, taken: map[string]*operation{}, usual: usualSchema}
	for _, o := range doc.operations {
		b.paths = append(b.paths, o.Path)
	}
	b.paths = slices.Compact(b.paths)
	for name := range opts.Headers {
		b.set[key(inHeader, name)] = true
	}
	for name := range opts.Query {
		b.set[key(inQuery, name)] = true
	}
	for _, scheme := range doc.schemes() {
		if scheme.Type == "apiKey" {
			b.set[key(scheme.In, scheme.Name)] = true
		}
	}
	b.at = b.base()
	return b
}

// tools returns the tools that are offered.
func (b *builder) tools() (tools []*Offer) {
	b.taken = map[string]*operation{}
	for _, o := range b.doc.operations {
		r := route(b.Routes, o)
		if r == nil || r.Deny {
			continue
		}
		if len(b.problems) >= maxProblems {
			break
		}
		if len(tools) == maxTools {
			b.problemf(r, "narrow the routes", "more than %d operations are offered", maxTools)
			break
		}
		t, err := b.tool(o, r)
		if err != nil {
			b.problemf(r, "deny it in a route before this one, or correct the description", "%s cannot be a tool: %s", o, err)
			continue
		}
		tools = append(tools, t)
	}
	return tools
}

// sizeOf returns the size of the schemas of tools, in bytes.
func sizeOf(tools []*Offer) (size int) {
	for _, t := range tools {
		size += len(t.InputSchema) + len(t.OutputSchema)
	}
	return size
}

// digest returns a hash that differs if what is offered may differ.
func digest(text []byte, opts Options) [sha256.Size]byte {
	sum := sha256.New()
	_, _ = sum.Write(text) // never fails
	for _, r := range opts.Routes {
		flag := func(b *bool) string {
			if b == nil {
				return "-"
			}
			return strconv.FormatBool(*b)
		}
		fmt.Fprintf(sum, "%q %q %q %q %v %s %s %q %s", r.Methods, r.Paths, r.Tags, r.IDs, r.Deny,
			flag(r.ReadOnly), flag(r.Idempotent), r.Name, r.Timeout)
	}
	names := func(set map[string]string) []string { return slices.Sorted(maps.Keys(set)) }
	fmt.Fprintf(sum, "%q %q %q %v", opts.BaseURL, names(opts.Headers), names(opts.Query), opts.Trusted)
	return [sha256.Size]byte(sum.Sum(nil))
}

func (b *builder) problemf(r *Route, hint, format string, args ...any) {
	at := -1
	for i := range b.Routes {
		if &b.Routes[i] == r {
			at = i
		}
	}
	b.problem(at, fmt.Sprintf(format, args...), hint)
}

// problem records a problem of a route, or of none (-1). Quotes from the description are put on one
// line, with nothing hidden in them.
func (b *builder) problem(at int, message, hint string) {
	b.problems = append(b.problems, Problem{at, inLine(message), inLine(hint)})
}

// routes checks that each route matches something.
func (b *builder) routes() {
	for i := range b.Routes {
		r := &b.Routes[i]
		count := 0
		for _, o := range b.doc.operations {
			if r.matches(o) {
				count++
			}
		}
		switch {
		case count == 0 && !r.Deny:
			b.problemf(r, "check its spelling: "+b.offers(), "no operation of the description matches this route")
		case r.Name != "" && count > 1:
			b.problemf(r, "name the operation by `ids`, or by `methods` and `paths`",
				"`name` is for one operation, and %d match this route", count)
		}
	}
}

// offers says what the description contains.
func (b *builder) offers() string {
	const most = 5
	var list []string
	for _, o := range b.doc.operations[:min(most, len(b.doc.operations))] {
		name := o.String()
		if o.ID != "" {
			name += " (" + o.ID + ")"
		}
		list = append(list, clip(name, maxTitle))
	}
	if more := len(b.doc.operations) - most; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	if len(list) == 0 {
		return "the description has no operations"
	}
	return "the description has " + strings.Join(list, ", ")
}

// base returns the URL before the paths; if there is none, a problem is recorded.
func (b *builder) base() string {
	if b.BaseURL != "" {
		return strings.TrimRight(b.BaseURL, "/")
	}
	base, err := b.serverURL(b.doc.servers)
	if err != nil {
		b.problem(-1, "the description does not say where the API is: "+err.Error(), "add `base_url: https://api.example.com/v1`")
	}
	return base
}

func (b *builder) serverURL(servers []serverObject) (string, error) {
	if len(servers) == 0 {
		servers = []serverObject{{URL: "/"}}
	}
	text := servers[0].URL
	for name, v := range servers[0].Variables {
		text = strings.ReplaceAll(text, "{"+name+"}", v.Default)
	}
	u, err := url.Parse(text)
	if err == nil && b.Source != nil {
		u = b.Source.ResolveReference(u)
	}
	switch {
	case err != nil, strings.Contains(text, "{"):
		return "", fmt.Errorf("%q is not a URL", clip(servers[0].URL, maxTitle))
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "":
		return "", fmt.Errorf("%q is not an absolute http or https URL", clip(servers[0].URL, maxTitle))
	}
	return strings.TrimRight(u.String(), "/"), nil
}

var errOwnServer = errors.New("it has a server of its own: set `base_url` if it is at the same place as the others")

// tool returns the tool of an operation.
func (b *builder) tool(o *operation, r *Route) (*Offer, error) {
	if o.invalid != nil {
		return nil, o.invalid
	}
	if len(o.Servers) > 0 && b.BaseURL == "" {
		if own, err := b.serverURL(o.Servers); err != nil || own != b.at {
			return nil, errOwnServer
		}
	}
	t := &Offer{
		Name: o.tool, Method: o.Method, Path: o.Path, Timeout: r.Timeout, accept: "application/json, */*;q=0.5",
		RouteReadOnly: r.ReadOnly, RouteIdempotent: r.Idempotent, paths: b.paths,
	}
	if r.Name != "" {
		t.Name = r.Name
	}
	if other := b.taken[t.Name]; other != nil {
		return nil, fmt.Errorf("its name %s is that of %s: give it another with `name`", t.Name, other)
	}
	b.taken[t.Name] = o
	t.Summary = describe(o)
	switch o.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		t.ReadOnly = true
	case http.MethodPut, http.MethodDelete:
		t.Idempotent = true
	}
	if r.ReadOnly != nil {
		t.ReadOnly = *r.ReadOnly
	}
	if err := b.input(t, o, b.usual); err != nil {
		return nil, err
	}
	t.Idempotent = t.Idempotent || t.Keyed
	if r.Idempotent != nil {
		t.Idempotent = *r.Idempotent
	}
	if b.Trusted {
		b.result(t, o)
	}
	return t, nil
}

// describe returns the description of an operation.
func describe(o *operation) string {
	summary, text := oneLine(o.Summary, maxNote), plain(o.Description, maxDescription)
	switch {
	case text == "" && summary == "":
		text = o.String()
	case summary != "" && !strings.HasPrefix(text, summary):
		text = strings.TrimSpace(summary + "\n\n" + text)
	}
	if o.Deprecated {
		text = "Deprecated. " + text
	}
	return clip(text, maxDescription)
}
