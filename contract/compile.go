package contract

import (
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A compiler makes a Contract from a file and collects the mistakes in the file.
type compiler struct {
	*language.Compiler

	file   *contractform.File
	c      *Contract
	parent *Contract

	own       []ownEntry
	hintTexts []hintText
}

func (k *compiler) compile() {
	f, c := k.file, k.c
	k.Head(f.Node, f.Form, "name", f.Name, "contract")
	c.Name = f.Name
	c.hintTools = append(c.hintTools, f.HintTools...)
	c.Title = f.Title // not inherited: the parent has its own page
	prefer(&c.Doc, strings.TrimSpace(f.Doc))
	if f.ReadOnly != nil {
		k.readOnly(f.ReadOnly)
	}
	if f.UnknownTool != nil {
		c.UnknownTool = k.OneOf(f.UnknownTool, unknownToolRPC, unknownToolResult)
	}
	if f.Literals != nil {
		c.literals = k.OneOf(f.Literals, literalsJSON, literalsPython)
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
			k.Mistakef(f.Retry.Node, "", "a retry rule needs retries >= 0, start > 0, factor >= 1 and jitter >= 0")
		}
	}
	shape, record := c.layout.shape, c.layout.record
	if f.Shape != nil {
		shape = k.shapeOrRecord(f.Shape)
		record = shape == nil
	}
	if f.Write != nil {
		c.layout = k.layout(f.Write)
	} else if f.Extends == nil {
		k.Mistakef(f.Node, "for example write: {text: json, structured: true}", "a contract without `extends` needs `write`")
	}
	c.layout.shape = shape
	c.layout.record = shape == nil && (record || c.writesObject())
	if f.Returns != nil {
		c.ownResults = k.ownResults(f.Returns)
	}
	if f.Poll != nil {
		c.Poll = PollRule(*f.Poll)
	}
	if f.Resources != nil {
		c.resources = k.resources(f.Resources)
	}
	if f.Upstream != nil {
		c.upstream = k.shape(f.Upstream.Body, contractform.RecordType)
	}
	shows := k.ShowsValues
	k.otherForms()
	k.ShowsValues = shows // what is only read is not shown
	k.members()
	k.verifies()
	if f.Hints != nil {
		c.hints = k.alternatives(f.Hints)
	}
	k.codes()
	c.bindTools()
	if k.ShowsValues || c.layout.record { // the whole record includes them
		c.showsValues = true
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
		k.Mistakef(n, "write true, or a list such as [get-orders]", "expected true, false or a list of tools")
		return
	}
	for i, name := range names {
		if _, writes := k.file.Verify.Get(name); writes {
			k.Mistakef(n.Item(i), "remove it from one of them",
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
		k.Mistakef(f.Node.Get("path"), "for example /mcp/{user_id}", "%q is not a path with at most one place for the user", f.Path)
	}
	header := func(n *strictyaml.Node, name string) {
		if !headerName.MatchString(name) {
			k.Mistakef(n, "for example X-Api-Key", "%q is not a header name", name)
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
	for _, item := range language.Items(n) {
		if class := k.OneOf(item, MaskPersonal, MaskAddresses); class != "" {
			classes = append(classes, class)
		}
	}
	return classes
}

// members reads the documentation of the wire object's members.
func (k *compiler) members() {
	for _, m := range k.file.Members {
		doc := contractform.ObjectMember{Name: m.Key, Present: m.Value.Present, Doc: m.Value.Doc}
		if known := k.c.memberNames(); !slices.Contains(known, m.Key) {
			k.Reportf(k.file.Node.Get("members").Key(m.Key), language.Suggest(m.Key, known), "the object has no member `%s`", m.Key)
		}
		if m.Value.Absent != nil {
			k.c.silence = m.Value.Absent
			if !k.c.layout.shape.decides(m.Key) {
				k.Reportf(k.file.Node.Get("members").Get(m.Key).Key("absent"), "remove it", "`absent` is for the member of `retryable`")
			}
		}
		i := slices.IndexFunc(k.c.members, func(inherited contractform.ObjectMember) bool { return inherited.Name == m.Key })
		if i < 0 {
			k.c.members = append(k.c.members, doc)
		} else {
			k.c.members[i] = doc
		}
	}
}
