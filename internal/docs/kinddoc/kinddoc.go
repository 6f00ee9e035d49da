// Package kinddoc tells people what each kind of failure means, and what to do about it: the page of all kinds ([Page]), and
// where on it a kind stands ([URL]). What people have to say is kinds.yaml; the rest is computed from the built-in contracts,
// and from how HTTP answers are read.
package kinddoc

import (
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// URL returns the address at which a kind is explained.
func URL(kind recourse.Kind) string {
	return "https://github.com/recoursehq/recourse/blob/main/docs/failures.md#" + string(kind)
}

//go:embed kinds.yaml
var source []byte

// A Text is what people have to say of a kind.
type Text struct {
	Means    string `yaml:"means" require:"true"`
	Agent    string `yaml:"agent" require:"true"`
	Operator string `yaml:"operator" require:"true"`
}

// Texts returns those of all kinds.
var Texts = sync.OnceValues(func() (map[recourse.Kind]Text, error) {
	all := map[recourse.Kind]Text{}
	err := strictyaml.Decode("kinds.yaml", source, &all)
	return all, err
})

// Page returns the page about all kinds, in Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString("# Kinds of failures\n\nEach failure has one of these kinds, whatever contract it is written in. " +
		"The log names it, and so\ndo `recourse explain` and the record's `kind`.\n\n| kind | in a sentence | `retry` |\n|---|---|---|\n")
	class := recourse.Class("")
	for _, kind := range recourse.Kinds() {
		if kind.Class() != class {
			class = kind.Class()
			fmt.Fprintf(&b, "| **%s** | | |\n", class)
		}
		fmt.Fprintf(&b, "| [`%[1]s`](#%[1]s) | %s | `%s` |\n", kind, kind.Sentence(), kind.Retry())
	}
	fmt.Fprintf(&b, "\nWhat an agent reads is shown in the contract [`%s`](contracts/%[1]s.md), of a tool that only reads, where nothing\n"+
		"more is known.\n", contract.Default)
	for _, kind := range recourse.Kinds() {
		writeKind(&b, kind)
	}
	return b.String()
}

// writeKind explains a kind.
func writeKind(b *strings.Builder, kind recourse.Kind) {
	texts, _ := Texts() // a test has read them
	text := texts[kind]
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n- **Agent**: %s\n- **Operator**: %s\n\n```\n%s\n```\n\n",
		kind, text.Means, text.Agent, text.Operator, example(kind))
	fmt.Fprintf(b, "| | |\n|---|---|\n| class | `%s` |\n| `retry`, where the server says nothing else | `%s`: %s |\n",
		kind.Class(), kind.Retry(), retries[kind.Retry()])
	if statuses := statuses(kind); statuses != "" {
		fmt.Fprintf(b, "| HTTP statuses that are read as it | %s |\n", statuses)
	}
	for _, c := range contract.Builtin().All() {
		if codes := codes(c, kind); c.Name != contract.Default && codes != "" {
			fmt.Fprintf(b, "| codes in [`%s`](contracts/%[1]s.md) | %s |\n", c.Name, codes)
		}
	}
}

// retries say in a few words what the advices mean.
var retries = map[recourse.Retry]string{
	recourse.RetrySameCall:  "the same call may succeed, after the wait",
	recourse.RetryReRead:    "look at the present state first",
	recourse.RetryAfterFix:  "change the arguments first",
	recourse.RetryAfterAuth: "somebody has to sign in or grant access first",
	recourse.RetryNever:     "do not repeat the call",
}

// example returns the text of a failed call in the default contract.
func example(kind recourse.Kind) string {
	e := recourse.New(kind, "").WithOrigin(recourse.OriginServer)
	if e.RetryAdvice() == recourse.RetrySameCall {
		e = e.WithEffect(recourse.EffectNone)
	}
	answer := contract.MustBuiltin(contract.Default).Write(e, &contract.Call{
		Method: "tools/call", Tool: "order_create", URL: "https://example.com/mcp", Now: contractform.ExampleTime,
	})
	var text string
	if err := json.Unmarshal(json.Lookup(json.Value(answer.Result), "/content/0/text"), &text); err != nil {
		return fmt.Sprintf("JSON-RPC error %d: %s", answer.RPCCode, answer.Message)
	}
	return text
}

// statuses returns the HTTP statuses that are read as a kind, or "".
func statuses(kind recourse.Kind) string {
	var all []string
	for status := http.StatusBadRequest; status < 600; status++ {
		if http.StatusText(status) == "" && status != 529 { // a provider that is overloaded
			continue
		}
		e := recourse.FromHTTP("", &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody})
		if e.Kind == kind {
			all = append(all, strconv.Itoa(status))
		}
	}
	return strings.Join(all, ", ")
}

// codes returns a contract's codes for a kind, or "".
func codes(c *contract.Contract, kind recourse.Kind) string {
	var all []string
	for _, code := range contractform.Of(c).Codes {
		if name := "`" + code.Code + "`"; code.Kind == kind && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return strings.Join(all, ", ")
}
