package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/client"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/upstream/openapi"
)

// importCommand drafts configurations from other descriptions.
type importCommand struct {
	OpenAPI importOpenAPI `cmd:"" name:"openapi" help:"${import_openapi}"`
}

// importOpenAPI drafts a configuration for an HTTP API.
type importOpenAPI struct {
	Source string `arg:"" name:"description" help:"File or URL of the description."`
	Name   string `placeholder:"NAME" help:"${import_openapi_name}"`
	Output string `short:"o" default:"recourse.yaml" placeholder:"FILE" help:"${import_openapi_output}"`
}

// Help shows an example.
func (*importOpenAPI) Help() string {
	return `Writes a configuration that offers the operations that only read, with those that write ready to be turned on, and a ` +
		`contract with a code for each failure that the description declares. It never replaces an existing file.

Example:

    recourse import openapi petstore.yaml
    recourse serve --check`
}

// maxDraft limits the routes that are listed one by one, in bytes: a configuration has at most 256 KiB.
const maxDraft = 160 << 10

// Run writes the files.
func (c *importOpenAPI) Run(ctx context.Context, env *term.Environment) error {
	text, source, err := c.read(ctx)
	if err != nil {
		return descriptionError(err, source)
	}
	survey, err := openapi.Look(text, source)
	if err != nil {
		return term.Usage(term.Hint(err, "give a document with OpenAPI 3.0 or 3.1, in YAML or JSON"))
	}
	if c.Name == "" {
		c.Name = nameFor(survey)
	}
	if !regexp.MustCompile(`^[a-z][a-z0-9_-]*$`).MatchString(c.Name) {
		return term.Usage(term.Hint(
			fmt.Errorf("%q cannot be a name", c.Name), "use a-z, 0-9, - and _, a letter first, with --name",
		))
	}
	contractFile := c.Name + "-contract.yaml"
	beside := filepath.Join(filepath.Dir(c.Output), contractFile)
	for _, file := range []string{c.Output, beside} {
		if load.IsThere(file) {
			return term.Usage(term.Hint(
				fmt.Errorf("%s already exists", file), "nothing was written; choose another file with -o, or remove that one",
			))
		}
	}
	draft := contractDraft(c.Name, survey)
	if _, err := contract.Builtin().Load(contractFile, []byte(draft)); err != nil { // that would be a bug
		return fmt.Errorf("the drafted contract: %w", err)
	}
	if err := writeNew(beside, []byte(draft)); err != nil {
		return err
	}
	if err := writeNew(c.Output, []byte(c.config(survey, contractFile))); err != nil {
		return err
	}
	term.Printf(env.Stdout, "wrote %s and %s\n\nRead them, and check what is served:\n\n    recourse serve --check -c %s\n",
		c.Output, beside, c.Output)
	tellMany(env.Stdout, survey)
	return nil
}

func (c *importOpenAPI) read(ctx context.Context) (text []byte, source *url.URL, err error) {
	if !openapi.IsURL(c.Source) {
		text, err = os.ReadFile(filepath.Clean(c.Source))
		return text, nil, err
	}
	if source, err = url.Parse(c.Source); err != nil {
		return nil, nil, err
	}
	text, err = openapi.Fetch(ctx, c.Source)
	return text, source, err
}

// descriptionError returns the failure for a description that could not be read, from source or, if that is nil,
// from a file.
func descriptionError(err error, source *url.URL) error {
	refused, answered := errors.AsType[*openapi.StatusError](err)
	e := recourse.From(err)
	if source != nil && errors.Is(err, io.EOF) {
		e = recourse.Unreachable("")
	}
	switch {
	case answered:
		e = refused.Failure
		switch e.Kind.Class() {
		case recourse.ClassAuth, recourse.ClassPermission:
			e = e.WithHint("download the description, and give the file instead")
		case recourse.ClassResource:
			e = e.WithHint("check the URL")
		default:
		}
	case source == nil, e.Kind == recourse.KindInternal:
		return term.Usage(term.Hint(fmt.Errorf("read the description: %w", err), "give a file or an http or https URL"))
	case e.Kind == recourse.KindUnreachable:
		e = client.Unreachable(e, source.Host)
	}
	return &term.CallError{Failure: e}
}

var separators = regexp.MustCompile(`[^a-z0-9]+`)

// nameFor returns a name for an API: from its host, as github for https://api.github.com, or else from its title, in whole words.
func nameFor(survey *openapi.Survey) string {
	if base, err := url.Parse(survey.Base); err == nil && net.ParseIP(base.Hostname()) == nil {
		if host, err := publicsuffix.EffectiveTLDPlusOne(base.Hostname()); err == nil {
			name, _, _ := strings.Cut(host, ".")
			return cmp.Or(words(name), "api")
		}
	}
	return cmp.Or(words(survey.Title), "api")
}

// words returns the first words of a text, in the form of a name: one at least, and at most 24 characters of others.
func words(text string) string {
	const most = 24
	name := strings.Trim(separators.ReplaceAllString(strings.ToLower(text), "-"), "-0123456789")
	if len(name) <= most {
		return name
	}
	if end := strings.LastIndexByte(name[:most+1], '-'); end > 0 {
		return name[:end]
	}
	name, _, _ = strings.Cut(name, "-")
	return name
}

// manyTools is more than models choose well among.
const manyTools = 40

// tellMany warns of an API that offers too many tools, with the tags by which they can be narrowed.
func tellMany(out io.Writer, s *openapi.Survey) {
	offered, tags := 0, map[string]int{}
	for _, o := range s.Operations {
		if o.Err == nil && o.Reads {
			offered++
			for _, tag := range o.Tags {
				tags[tag]++
			}
		}
	}
	if offered <= manyTools {
		return
	}
	term.Printf(out, "\nThese are %d tools, and models choose badly among more than %d. ", offered, manyTools)
	term.Printf(out, "Narrow operations in the file by paths")
	if len(tags) == 0 {
		term.Printf(out, ".\n")
		return
	}
	byCount := slices.SortedFunc(maps.Keys(tags), func(a, b string) int { return cmp.Or(cmp.Compare(tags[b], tags[a]), cmp.Compare(a, b)) })
	term.Printf(out, ", or by tags, such as {methods: [GET], tags: [%s]}:\n\n", byCount[0])
	for _, tag := range byCount {
		term.Printf(out, "    %4d  %s\n", tags[tag], tag)
	}
}

// config returns the configuration.
func (c *importOpenAPI) config(s *openapi.Survey, contractFile string) string {
	var b strings.Builder
	where := c.Source
	if !openapi.IsURL(where) {
		if relative, err := filepath.Rel(filepath.Dir(c.Output), where); err == nil {
			where = filepath.ToSlash(relative)
		}
	}
	fmt.Fprintf(&b, "# %s\n# Drafted by `recourse import openapi`. Take out what agents are not to do; add what they may.\n",
		quiet(s.Title))
	fmt.Fprintf(&b, "listen: 127.0.0.1:8787\ncontracts: [%s]\nservers:\n  %s:\n    openapi: %s\n", contractFile, c.Name, quote(where))
	if s.Base == "" {
		b.WriteString("    base_url: https://api.example.com   # the description does not say where the API is\n")
	} else {
		fmt.Fprintf(&b, "    # base_url: %s\n", quote(s.Base))
	}
	fmt.Fprintf(&b, "    contract: %s\n", c.Name)
	for _, credential := range s.Credentials {
		b.WriteString(credentialLine(c.Name, credential))
	}
	if len(s.Credentials) == 0 {
		b.WriteString(strings.TrimSuffix(credentialLine(c.Name, openapi.Credential{}), "\n") + "; the description names no credential\n")
	}
	b.WriteString(routes(s.Operations))
	return b.String()
}

// credentialLine returns the line that shows where a credential goes.
func credentialLine(name string, credential openapi.Credential) string {
	variable := strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_KEY"
	switch {
	case credential.Type == "apiKey" && credential.In == "query":
		return fmt.Sprintf("    # query: {%s: \"${%s}\"}\n", quote(credential.Name), variable)
	case credential.Type == "apiKey" && credential.In == "header":
		return fmt.Sprintf("    # headers: {%s: \"${%s}\"}\n", quote(credential.Name), variable)
	default:
		return fmt.Sprintf("    # headers: {Authorization: \"Bearer ${%s}\"}   # or forward: [authorization]\n", variable)
	}
}

// routes returns the allow-list: reading operations are offered, and writing ones are commented out,
// unless there are only writing ones.
func routes(operations []openapi.Surveyed) string {
	reads := slices.ContainsFunc(operations, func(o openapi.Surveyed) bool { return o.Err == nil && o.Reads })
	line := func(o openapi.Surveyed) string {
		said := o.Tool
		if o.Summary != "" {
			said += ": " + quiet(o.Summary)
		}
		return fmt.Sprintf("- {methods: [%s], paths: [%s]}   # %s\n", o.Method, quote(o.Path), said)
	}
	var b strings.Builder
	b.WriteString("    operations:\n")
	for _, o := range operations {
		if o.Err == nil && (o.Reads || !reads) {
			b.WriteString("    " + line(o))
		}
	}
	for _, o := range operations {
		switch {
		case o.Err != nil:
			fmt.Fprintf(&b, "    # %s %s cannot be a tool: %s\n", o.Method, quiet(o.Path), quiet(o.Err.Error()))
		case !o.Reads && reads:
			b.WriteString("    # " + line(o))
		}
	}
	if b.Len() > maxDraft {
		return "    operations:\n    - {methods: [GET]}   # there are too many to list: narrow it by paths or tags\n"
	}
	return b.String()
}

// quote returns a text quoted for a configuration.
func quote(s string) string { return strconv.Quote(strings.ReplaceAll(s, "$", "$$")) }

// quiet returns a text in the form for a comment.
func quiet(s string) string {
	printable := func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}
	return strings.Join(strings.Fields(strings.Map(printable, s)), " ")
}

// draftedHints is the advice in a draft, by class of failure; the user is meant to improve it.
var draftedHints = map[recourse.Class]string{
	recourse.ClassInput:      "Correct the arguments, then call again.",
	recourse.ClassAuth:       "Do not repeat the call before somebody has renewed the access.",
	recourse.ClassPermission: "Do not repeat the call: it is not permitted.",
	recourse.ClassResource:   "Look for what is there, then call again.",
	recourse.ClassState:      "Read the present state before calling again.",
	recourse.ClassAllowance:  "Call again later.",
}

// contractDraft returns a contract with one code per declared failure.
func contractDraft(name string, s *openapi.Survey) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The failures of %s, drafted by `recourse import openapi`. Say in each hint what an agent is to do.\n"+
		"form: 1\nname: %s\ntitle: %s\nextends: recourse\n", quiet(s.Title), name, strconv.Quote(cmp.Or(s.Title, name)))
	taken := map[string]bool{}
	for _, kind := range recourse.Kinds() { // the codes of the contract that the draft extends
		taken[string(kind)] = true
	}
	var entries strings.Builder
	for _, f := range s.Failures {
		e := recourse.FromStatus(name, f.Status)
		entry := func(code, selector string) {
			if len(code) > 64 || taken[code] || code == "" {
				return
			}
			taken[code] = true
			hint := cmp.Or(draftedHints[e.Kind.Class()], "Call again later.")
			when := cmp.Or(f.Description, http.StatusText(f.Status), "HTTP status "+strconv.Itoa(f.Status))
			fmt.Fprintf(&entries, "- code: %s\n  kind: %s\n  when: %s\n  for: [{kind: %s, %s}]\n  hint: %s\n",
				code, e.Kind, strconv.Quote(when), e.Kind, selector, strconv.Quote(hint))
		}
		for _, code := range f.Codes {
			entry(slug(code), "upstream_code: "+strconv.Quote(code))
		}
		if f.Description != "" && !strings.EqualFold(f.Description, http.StatusText(f.Status)) {
			entry(fmt.Sprintf("%s_%d", slug(name), f.Status), "status: "+strconv.Itoa(f.Status))
		}
	}
	if entries.Len() == 0 {
		return b.String() + "codes: []   # the description declares no failures: add those that you meet\n"
	}
	return b.String() + "codes:\n" + entries.String()
}

// slug returns a text in the form of a code.
func slug(s string) string {
	return strings.Trim(separators.ReplaceAllString(strings.ToLower(s), "_"), "_")
}
