package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/nearest"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// A compiler makes a Contract from a file and collects the mistakes in the file.
type compiler struct {
	doc    *strictyaml.Document
	file   *contractform.File
	c      *Contract
	parent *Contract

	own       []ownEntry
	hintTexts []hintText
	mistakes  int
}

// formVersion is the version of the file format.
const formVersion = 1

func (k *compiler) compile() {
	f, c := k.file, k.c
	if f.Form != formVersion && f.Form != 0 {
		k.mistakef(f.Node.Get("form"), "write form: 1", "form %d is not known", f.Form)
	}
	if !isName(f.Name) && f.Name != "" {
		k.mistakef(f.Node.Get("name"), "use lower-case letters, digits, - and _", "%q is not a name for a contract", f.Name)
	}
	c.Name = f.Name
	c.hintTools = append(c.hintTools, f.HintTools...)
	c.Title = f.Title // not inherited: the parent has its own page
	prefer(&c.Doc, strings.TrimSpace(f.Doc))
	if f.ReadOnly != nil {
		k.readOnly(f.ReadOnly)
	}
	if f.UnknownTool != nil {
		c.UnknownTool = k.oneOf(f.UnknownTool, unknownToolRPC, unknownToolResult)
	}
	if f.Literals != nil {
		c.literals = k.oneOf(f.Literals, literalsJSON, literalsPython)
	}
	if f.Mask != nil {
		c.Mask = k.masks(f.Mask)
	}
	if f.Session != nil {
		c.Session = k.session(f.Session)
	}
	if f.Retry != nil {
		c.Retry = RetryRule{
			Retries: f.Retry.Retries, Start: f.Retry.Start, Factor: f.Retry.Factor,
			JitterMax: f.Retry.Jitter.Max, JitterFrom: f.Retry.Jitter.From,
		}
		if c.Retry.Retries < 0 || c.Retry.Start <= 0 || c.Retry.Factor < 1 || c.Retry.JitterMax < 0 {
			k.mistakef(f.Retry.Node, "", "a retry rule needs retries >= 0, start > 0, factor >= 1 and jitter >= 0")
		}
	}
	shape := c.layout.shape
	if f.Shape != nil {
		shape = k.shapeOrRecord(f.Shape)
	}
	if f.Write != nil {
		c.layout = k.layout(f.Write)
	} else if f.Extends == nil {
		k.mistakef(f.Node, "for example write: {text: json, structured: true}", "a contract without `extends` needs `write`")
	}
	c.layout.shape = shape
	if f.Returns != nil {
		c.ownResults = k.ownResults(f.Returns)
	}
	if f.Poll != nil {
		c.Poll = PollRule(*f.Poll)
	}
	if f.Upstream != nil {
		c.upstream = k.shape(f.Upstream.Body, contractform.RecordType)
	}
	k.otherForms()
	k.members()
	k.verifies()
	if f.Hints != nil {
		c.hints = k.alternatives(f.Hints)
	}
	k.codes()
	c.bindTools()
	if c.layout.shape == nil && c.layout.text != nil && c.writesObject() {
		c.showsValues = true // the whole record includes them
	}
}

// readOnly reads which tools only read: all of them, or the ones listed.
func (k *compiler) readOnly(n *strictyaml.Node) {
	if n.Kind() == strictyaml.KindBool {
		_ = n.Decode(&k.c.readOnly) // it is a boolean
		return
	}
	var names []string
	if n.Kind() != strictyaml.KindSequence || n.Decode(&names) != nil {
		k.mistakef(n, "write true, or a list such as [get-orders]", "expected true, false or a list of tools")
		return
	}
	for i, name := range names {
		if _, writes := k.file.Verify.Get(name); writes {
			k.mistakef(n.Item(i), "remove it from one of them",
				"%s only reads, and has an entry in `verify`, which is for tools that write", name)
		}
	}
	for _, name := range names {
		k.c.readers[name] = true
	}
}

// sessionPath matches a path with at most one segment in braces.
var sessionPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*(/\{[a-z][a-z0-9_]*\})?(/[A-Za-z0-9._~-]+)*$`)

// headerName matches an HTTP field name (RFC 9110, section 5.1).
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func (k *compiler) session(f *contractform.SessionFile) SessionRule {
	if f.Path != "" && !sessionPath.MatchString(f.Path) {
		k.mistakef(f.Node.Get("path"), "for example /mcp/{user_id}", "%q is not a path with at most one place for the user", f.Path)
	}
	header := func(n *strictyaml.Node, name string) {
		if !headerName.MatchString(name) {
			k.mistakef(n, "for example X-Api-Key", "%q is not a header name", name)
		}
	}
	for i, name := range f.Credentials {
		header(f.Node.Get("credentials").Item(i), name)
	}
	if f.User != "" {
		header(f.Node.Get("user"), f.User)
	}
	return SessionRule{Path: f.Path, Credentials: f.Credentials, UserHeader: f.User}
}

// masks reads the classes of data that a contract keeps out of its failures.
func (k *compiler) masks(n *strictyaml.Node) []string {
	var classes []string
	for _, item := range items(n) {
		if class := k.oneOf(item, MaskPersonal, MaskAddresses); class != "" {
			classes = append(classes, class)
		}
	}
	return classes
}

// members reads the documentation of the wire object's members.
func (k *compiler) members() {
	for _, m := range k.file.Members {
		doc := contractform.Member{Name: m.Key, Present: m.Value.Present, Doc: m.Value.Doc}
		if known := k.c.memberNames(); !slices.Contains(known, m.Key) {
			k.reportf(k.file.Node.Get("members").Key(m.Key), nearestHint(m.Key, known), "the object has no member `%s`", m.Key)
		}
		if m.Value.Absent != nil {
			k.c.silence = m.Value.Absent
			if !k.c.layout.shape.decides(m.Key) {
				k.reportf(k.file.Node.Get("members").Get(m.Key).Key("absent"), "remove it", "`absent` is for the member of `retryable`")
			}
		}
		i := slices.IndexFunc(k.c.members, func(inherited contractform.Member) bool { return inherited.Name == m.Key })
		if i < 0 {
			k.c.members = append(k.c.members, doc)
		} else {
			k.c.members[i] = doc
		}
	}
}

func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" && s[0] != '-' && s[0] != '_'
}

func (k *compiler) mistakef(at *strictyaml.Node, hint, format string, args ...any) {
	k.reportf(at.Pos(), hint, format, args...)
}

func (k *compiler) reportf(at strictyaml.Pos, hint, format string, args ...any) {
	k.mistakes++
	k.doc.Reportf(at, hint, format, args...)
}

// oneOf reads a text that must be one of values.
func (k *compiler) oneOf(n *strictyaml.Node, values ...string) string {
	var text string
	if n.Decode(&text) != nil {
		return ""
	}
	if !slices.Contains(values, text) {
		k.mistakef(n, nearestHint(text, values), "`%s` is not known here", text)
		return ""
	}
	return text
}

func nearestHint(text string, values []string) string {
	if near, ok := nearest.Of(text, values); ok {
		return "did you mean `" + near + "`?"
	}
	const most = 8
	if more := len(values) - most; more > 2 {
		return fmt.Sprintf("one of %s and %d others", strings.Join(values[:most], ", "), more)
	}
	return "one of " + strings.Join(values, ", ")
}

// items returns the items of a sequence, or the value itself.
func items(n *strictyaml.Node) []*strictyaml.Node {
	if n.Kind() != strictyaml.KindSequence {
		return []*strictyaml.Node{n}
	}
	list := make([]*strictyaml.Node, n.Len())
	for i := range list {
		list[i] = n.Item(i)
	}
	return list
}

// constant turns a YAML value into JSON.
func (k *compiler) constant(n *strictyaml.Node) json.Value {
	var v any
	if n.Decode(&v) != nil {
		return json.Value("null")
	}
	raw, err := json.Marshal(v)
	if err != nil {
		k.mistakef(n, "", "%s", fmt.Errorf("has no JSON form: %w", err))
		return json.Value("null")
	}
	return raw
}
