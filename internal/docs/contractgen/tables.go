package contractgen

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// The contract as tables in JSON, which each language writes in its own way. Their types are in typescript/types.ts.

// codesTable returns the entries.
func (c module) codesTable() json.Value {
	return listOf(c.form.Codes, func(en *contractform.Code) json.Value {
		var m json.Members
		m.Text("code", locatedTemplate(en.Code))
		if en.Open {
			m.Flag("open", true)
		}
		m.Text("name", en.Name)
		m.Text("kind", string(en.Kind))
		m.Text("group", en.Group)
		m.Text("when", en.When)
		m.Add("for", listOf(en.Selectors, selectorTable))
		m.Texts("reads", en.Reads)
		m.Some("set", constantsTable(en.Set))
		m.Add("retryable", retryTable(en.Retry))
		if en.Wait > 0 {
			m.Number("waitMs", int(en.Wait.Milliseconds()))
		}
		m.Some("message", listOf(en.Messages, templateTable))
		m.Some("hint", listOf(en.Hints, hintTable))
		if en.Ask != nil {
			var ask json.Members
			ask.Add("for", listOf(en.Ask.Selectors, selectorTable))
			ask.Add("messages", listOf(en.Ask.Messages, templateTable))
			ask.Text("reason", en.Ask.Reason)
			ask.Texts("fields", en.Ask.Fields)
			m.Object("ask", ask)
		}
		if en.HTTP != nil {
			m.Add("http", httpTable(en.HTTP))
		}
		if en.RPC != nil {
			var rpc json.Members
			rpc.Number("code", en.RPC.Code)
			rpc.Add("messages", listOf(en.RPC.Messages, templateTable))
			if en.RPC.Data != nil {
				rpc.Add("data", bodyTable(en.RPC.Data))
			}
			m.Object("rpc", rpc)
		}
		m.Text("otherwise", en.Otherwise)
		return m.AppendTo(nil)
	})
}

// contractTable returns what applies to the contract as a whole.
func (c module) contractTable() json.Members {
	var m json.Members
	m.Text("name", c.Name)
	m.Text("unknownTool", c.UnknownTool)
	m.Text("literals", cmp.Or(c.form.Literals, "json"))
	m.Flag("showsValues", c.form.ShowsValues)
	m.Text("default", c.form.Fallback.Code)
	layouts := []json.Value{layoutTable(nil, &c.form.Layout)}
	for _, r := range c.form.ToolResults {
		layouts = append(layouts, layoutTable(r.Tools, &r.Layout))
	}
	m.Add("layouts", listOf(layouts, func(layout json.Value) json.Value { return layout }))
	var returned []string // by tools whose failures are no errors
	for _, r := range c.form.ToolResults {
		if !r.Layout.IsError {
			returned = append(returned, r.Tools...)
		}
	}
	m.Texts("returned", returned)
	if c.form.Question != nil {
		m.Add("question", shapeTable(c.form.Question))
	}
	m.Some("forms", listOf(c.form.Reads, func(r contractform.Read) json.Value {
		var one json.Members
		if r.Text != "" {
			one.Text("text", locatedTemplate(r.Text))
		}
		if r.Shape != nil {
			one.Add("shape", shapeTable(r.Shape))
		}
		one.Some("set", constantsTable(r.Set))
		return one.AppendTo(nil)
	}))
	m.Some("ranges", listOf(c.form.Ranges, func(r contractform.Range) json.Value {
		var one json.Members
		one.Number("from", r.From)
		one.Number("to", r.To)
		one.Text("kind", string(r.Kind))
		one.Text("name", r.Name)
		return one.AppendTo(nil)
	}))
	if c.form.Silence != nil {
		m.Add("silence", json.Value(strconv.AppendBool(nil, *c.form.Silence)))
	}
	var verify json.Members
	for _, tool := range slices.Sorted(maps.Keys(c.form.Verify)) {
		verify.Object(tool, verifyTable(c.form.Verify[tool]))
	}
	m.Some("verify", verify.AppendTo(nil))
	m.Add("hints", listOf(c.form.Hints, hintTable))
	c.recoveryTables(&m)
	return m
}

// recoveryTables adds what a client does about failures.
func (c module) recoveryTables(m *json.Members) {
	rule := c.RetryRuleOrDefault()
	var retry, batch json.Members
	retry.Number("retries", rule.Retries)
	retry.Number("startMs", int(rule.Start.Milliseconds()))
	retry.Add("factor", json.Value(strconv.FormatFloat(max(rule.Factor, 1), 'g', -1, 64)))
	retry.Number("jitterMs", int(rule.JitterMax.Milliseconds()))
	retry.Number("jitterFrom", rule.JitterFrom)
	m.Object("retry", retry)
	if c.Poll.Next != "" && len(c.Poll.Pending) > 0 {
		var poll json.Members
		poll.Text("wait", c.Poll.Wait)
		poll.Text("next", c.Poll.Next)
		poll.Add("status", json.Texts(c.Poll.Status))
		poll.Add("pending", json.Texts(c.Poll.Pending))
		poll.Add("failed", json.Texts(c.Poll.Failed))
		poll.Add("reason", json.Texts(c.Poll.Reason))
		poll.Add("failure", c.endedJob())
		m.Object("poll", poll)
	}
	for _, tool := range slices.Sorted(maps.Keys(c.form.Batch)) {
		batch.Text(tool, c.form.Batch[tool])
	}
	m.Some("batch", batch.AppendTo(nil))
	var expects json.Members
	for _, tool := range slices.Sorted(maps.Keys(c.form.Expects)) {
		expects.Add(tool, listOf(c.form.Expects[tool], expectTable))
	}
	m.Some("expects", expects.AppendTo(nil))
	readers := c.form.Readers
	if c.form.ReadOnly {
		readers = []string{"*"} // all tools without a verify call
	}
	m.Texts("readers", readers)
	m.Texts("advised", c.AdvisedTools())
}

// endedJob returns the record of polled work that has ended without success.
func (c module) endedJob() json.Value {
	e := recourse.JobFailed("").WithOrigin(recourse.OriginServer).WithEffect(recourse.EffectApplied)
	record, err := c.Write(e, &contract.Call{}).Record.MarshalJSON()
	if err != nil {
		panic("contract: " + err.Error())
	}
	return record
}

func expectTable(x contractform.Expectation) json.Value {
	var m json.Members
	m.Text("path", x.Path)
	m.Text("notEmptyFor", x.NotEmptyFor)
	m.Text("equals", x.Equals)
	return m.AppendTo(nil)
}

func landedTable(l *contractform.Landed) json.Members {
	var m json.Members
	m.Text("path", l.Path)
	switch {
	case l.Exists != nil:
		m.Add("exists", json.Value(strconv.AppendBool(nil, *l.Exists)))
		return m
	case l.Pointer != "":
		m.Text("pointer", l.Pointer)
	default:
		m.Add("is", l.Value)
	}
	if l.Contains {
		m.Flag("contains", true)
	}
	return m
}

// listOf returns the list of one(item) for each item.
func listOf[T any](items []T, one func(T) json.Value) json.Value {
	values := make([]json.Value, len(items))
	for i, item := range items {
		values[i] = one(item)
	}
	return json.Array(values)
}

func quoted(text string) json.Value { return json.AppendQuote(nil, text) }

func templateTable(template string) json.Value { return quoted(locatedTemplate(template)) }

func selectorTable(sel contractform.Selector) json.Value {
	var m json.Members
	for _, c := range sel {
		values := c.Values
		if c.On == "has" {
			values = nil
			for _, path := range c.Values {
				values = append(values, located(path))
			}
		}
		m.Add(c.On, json.Texts(values))
	}
	return m.AppendTo(nil)
}

func hintTable(a contractform.Hint) json.Value {
	var m json.Members
	if len(a.When) > 0 {
		m.Add("for", selectorTable(a.When))
	}
	m.Text("text", locatedTemplate(a.Text))
	m.Texts("tools", a.Tools)
	return m.AppendTo(nil)
}

func constantsTable(list []contractform.Constant) json.Value {
	var m json.Members
	for _, k := range list {
		m.Add(located(k.Path), k.Value)
	}
	return m.AppendTo(nil)
}

func retryTable(r contractform.Retryable) json.Value {
	switch r.Mode {
	case contractform.Always:
		return json.Value("true")
	case contractform.Never:
		return json.Value("false")
	case contractform.ByStatus:
		return json.Texts(r.Status)
	case contractform.Stated:
		return json.Value(`"stated"`)
	default:
		return json.Value(`"error"`)
	}
}

func verifyTable(v contractform.VerifyCall) json.Members {
	var m json.Members
	m.Text("tool", v.Tool)
	m.Add("args", listOf(v.Args, func(a contractform.VerifyArg) json.Value {
		var arg json.Members
		arg.Text("name", a.Name)
		arg.Text("pointer", a.Pointer)
		if a.List {
			arg.Flag("list", true)
		}
		if a.Pointer == "" {
			arg.Add("is", a.Value)
		}
		return arg.AppendTo(nil)
	}))
	m.Text("lookAt", v.LookAt)
	if v.Landed != nil {
		m.Object("landed", landedTable(v.Landed))
	}
	return m
}

func layoutTable(tools []string, l *contractform.Layout) json.Value {
	var m json.Members
	m.Texts("tools", tools)
	if l.Shape != nil {
		m.Add("shape", shapeTable(l.Shape))
	}
	if l.Record {
		m.Flag("record", true)
	}
	if line := l.Line; line != nil {
		m.Text("line", locatedTemplate(line.Src))
		if line.BeforeHints != "" {
			var hints json.Members
			hints.Text("before", line.BeforeHints)
			hints.Text("between", line.BetweenHints)
			m.Object("hints", hints)
		}
		if line.EnvelopeShape != nil {
			var envelope json.Members
			envelope.Text("mark", line.EnvelopeMark)
			envelope.Add("shape", shapeTable(line.EnvelopeShape))
			m.Object("envelope", envelope)
		}
	} else if l.Indent > 0 {
		m.Number("indent", l.Indent)
	}
	m.Text("human", locatedTemplate(l.Human))
	if l.Format.Argument != "" {
		var format json.Members
		format.Text("argument", l.Format.Argument)
		format.Text("default", l.Format.Fallback)
		format.Texts("tools", l.Format.Tools)
		m.Object("format", format)
	}
	if l.Structured {
		m.Flag("structured", true)
	}
	m.Text("result", l.Result)
	if l.IsError {
		m.Flag("isError", true)
	}
	if l.MimeTypes {
		m.Flag("mimeTypes", true)
	}
	if l.Advises {
		m.Flag("advises", true)
	}
	return m.AppendTo(nil)
}

func shapeTable(sh *contractform.Shape) json.Value {
	var m json.Members
	for i := range sh.Members {
		m.Add(sh.Members[i].Name, memberTable(&sh.Members[i]))
	}
	if sh.Rest != "" {
		m.Text("...", sh.Rest)
	}
	return m.AppendTo(nil)
}

func memberTable(m *contractform.ShapeMember) json.Value {
	var source json.Members
	switch {
	case m.Constant != nil:
		source.Add("is", m.Constant)
	case m.List != nil:
		source.Text("each", m.List.Src)
		source.Add("item", shapeTable(m.Nested))
	case m.Nested != nil:
		source.Add("shape", shapeTable(m.Nested))
	case m.Choices != nil:
		source.Add("oneOf", listOf(m.Choices, choiceTable))
	default:
		return quoted(located(m.Path.Src))
	}
	return source.AppendTo(nil)
}

func choiceTable(c contractform.Choice) json.Value {
	var m json.Members
	if len(c.When) > 0 {
		m.Add("for", selectorTable(c.When))
	}
	if c.Constant != nil {
		m.Add("is", c.Constant)
	} else {
		m.Text("path", located(c.Path.Src))
	}
	return m.AppendTo(nil)
}

func httpTable(f *contractform.HTTP) json.Value {
	var m, headers json.Members
	m.Number("status", f.Status)
	for _, h := range f.Headers {
		headers.Text(h.Name, locatedTemplate(h.Value))
	}
	m.Some("headers", headers.AppendTo(nil))
	m.Text("type", f.Media)
	if f.Body != nil {
		m.Add("body", bodyTable(f.Body))
	}
	return m.AppendTo(nil)
}

// bodyTable writes a body as sources, as in shapes.
func bodyTable(b *contractform.Body) json.Value {
	var source json.Members
	switch {
	case b.Shape:
		source.Flag("own", true)
	case b.Text != "":
		if path, ok := onlyPath(b.Text); ok {
			return quoted(located(path))
		}
		source.Text("text", locatedTemplate(b.Text))
	case b.List != nil:
		source.Add("list", listOf(b.List, bodyTable))
	case len(b.Object) > 0:
		var shape json.Members
		for _, member := range b.Object {
			shape.Add(member.Name, bodyTable(member.Value))
		}
		source.Object("shape", shape)
	case b.Object != nil:
		source.Add("is", json.Value("{}"))
	default:
		source.Add("is", b.Constant)
	}
	return source.AppendTo(nil)
}

// onlyPath returns the path of a template that consists of one placeholder.
func onlyPath(template string) (string, bool) {
	inner, opens := strings.CutPrefix(template, "{")
	path, closes := strings.CutSuffix(inner, "}")
	return path, opens && closes && !strings.ContainsAny(path, "{}|")
}
