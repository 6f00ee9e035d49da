package check

import (
	"bytes"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/args"
	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// transcript is all that was seen of a server.
type transcript struct {
	promised  *contract.Contract // or nil
	stdio     bool
	started   bool        // there was a session
	modern    bool        // this is in the modern era: the server speaks no other, or it is the transcript in other
	other     *transcript // of the modern era, if the server speaks both; its tools are not listed again
	name      string      // as it calls itself
	version   string
	protocol  string
	sessions  bool // over HTTP: it gave a session
	listed    bool // the list of tools was read, up to a bound
	page      int  // how many bytes its first page has
	endless   string
	tools     []*listedTool
	exchanges []*exchange

	unrecorded int // requests that a recording has no answer to
	strays     []server.Stray
	left       []bool // for each program that was ended: whether it left by itself
	again      *bool  // whether it started again after it was killed
	writes     []*writeSeen
	provider   []*providerSeen
	slow       []*slowSeen
	stands     map[string][]*exchange // by tool: verify calls before and after the tools that read were called
	stopped    string                 // why not all steps were taken
	dying      bool                   // because the server ended again and again
}

// longList is how many bytes of a list of tools are many.
const longList = 1 << 20

// long reports whether the list of tools is too long to be asked for again and again: the load would be of the check's own making.
func (t *transcript) long() bool { return t.endless != "" || t.page > longList }

// A listedTool is a tool as the server lists it.
type listedTool struct {
	Name         string      `json:"name"`
	Description  string      `json:"description"`
	InputSchema  json.Value  `json:"inputSchema"`
	OutputSchema json.Value  `json:"outputSchema"`
	Annotations  annotations `json:"annotations"`

	schema  *args.Schema // nil: it cannot be compiled, for the reason in problem
	problem error
	params  []param

	believed bool // the user says that it only reads
}

// nameOf returns the name of a tool, or "".
func nameOf(t *listedTool) string {
	if t == nil {
		return ""
	}
	return t.Name
}

// annotations are a tool's hints; nil: it does not say.
type annotations struct {
	ReadOnly    *bool `json:"readOnlyHint"`
	Destructive *bool `json:"destructiveHint"`
	Idempotent  *bool `json:"idempotentHint"`
	OpenWorld   *bool `json:"openWorldHint"`
}

func says(hint *bool) bool { return hint != nil && *hint }

// reads reports whether the tool only reads, by its own word or the user's.
func (t *listedTool) reads() bool {
	return t.believed || says(t.Annotations.ReadOnly) && !says(t.Annotations.Destructive)
}

// hinted reports whether the tool says whether it only reads. The other two hints mean something only for a tool that does not,
// and Go's SDK leaves out a readOnlyHint that is false.
func (t *listedTool) hinted() bool {
	return t.Annotations.ReadOnly != nil || t.Annotations.Destructive != nil || t.Annotations.Idempotent != nil
}

// writes reports whether it says that it writes.
func (t *listedTool) writes() bool { return t.hinted() && !t.reads() }

// exchange is a request and what came of it.
type exchange struct {
	step   step
	sent   []byte
	answer server.Reply
	died   bool // the connection ended, and the server with it
	said   said
}

// said is what an answer says to a client.
type said struct {
	failed  bool // isError or an error
	rpc     bool // an error of JSON-RPC
	code    int  // of an error
	text    string
	other   bool // there is content that is no text
	result  json.Value
	object  json.Value // structuredContent
	marked  bool       // isError is set
	record  *recourse.Error
	form    *contract.Contract // in whose form it is, or nil
	reads   string             // the family that has to stand in `reads` for the gateway to tell it
	dressed string             // by which sign an answer without isError looks like a failure
}

// readerOf reads the failures of a server with that contract; nil: it has none that is known.
func readerOf(promised *contract.Contract) *contract.Reader {
	return &contract.Reader{Contracts: contract.Builtin().All(), Own: promised, Weak: promised, Trusted: true}
}

// listen reads an answer.
func listen(reader *contract.Reader, text []byte) (s said) {
	var e struct {
		Result json.Value `json:"result"`
		Error  json.Value `json:"error"`
	}
	if json.UnmarshalLenient(text, &e) != nil {
		return s
	}
	if e.Error != nil {
		return listenError(reader, e.Error)
	}
	var r struct {
		IsError bool `json:"isError"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.Value `json:"structuredContent"`
	}
	_ = json.UnmarshalLenient(e.Result, &r) // of a result that is none of a tool, nothing is read
	s.result, s.object, s.marked, s.failed = e.Result, r.Structured, r.IsError, r.IsError
	var texts []string
	for _, block := range r.Content {
		if block.Type == "text" {
			texts = append(texts, block.Text)
		} else {
			s.other = true
		}
	}
	s.text = strings.Join(texts, "\n")
	if len(e.Result) > longList { // it is no failure in a known form, and reading it would take many times as much
		return s
	}
	reading, failed := reader.Result(e.Result)
	if !failed {
		reading, s.reads, failed = reader.Seems(e.Result)
	}
	if failed {
		s.record, s.form = reading.Error(), reading.Contract
		if !r.IsError {
			s.dressed = reading.Sign
		}
	}
	return s
}

// listenError reads an error of JSON-RPC.
func listenError(reader *contract.Reader, raw json.Value) said {
	var e struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	_ = json.UnmarshalLenient(raw, &e) // what is not there is empty
	reading := reader.RPC(raw)
	return said{failed: true, rpc: true, code: e.Code, text: e.Message, record: reading.Error(), form: reading.Contract}
}

// of returns the exchanges of these probes that were answered.
func (t *transcript) of(probes ...probe) (found []*exchange) {
	for _, x := range t.exchanges {
		for _, p := range probes {
			if x.step.probe == p && x.answer.Text != nil {
				found = append(found, x)
			}
		}
	}
	return found
}

// failures returns the answers that are failures.
func (t *transcript) failures() (found []*exchange) {
	for _, x := range t.exchanges {
		if x.said.failed {
			found = append(found, x)
		}
	}
	return found
}

// quoted returns the beginning of a text on one line, in quotes.
func quoted(text string) string {
	const most = 160
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return `"` + text + `"`
}

// mentions reports whether a text names a word, in any case.
func mentions(text, word string) bool {
	return bytes.Contains(bytes.ToLower([]byte(text)), bytes.ToLower([]byte(word)))
}
