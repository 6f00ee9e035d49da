package contract

import (
	"crypto/sha256"
	"time"

	"github.com/recoursehq/recourse/internal/contractform"
)

// Contract says how a server fails: which code stands for which record, whether the same
// call may be repeated, what to advise, and how all of it is written. Get one with
// [Builtin] or [Set.Load]. It is safe for concurrent use; do not change its fields.
type Contract struct {
	// Name is the name by which configurations choose the contract.
	Name string
	// Title is a name for people; empty: there is none but Name.
	Title string
	// Doc says what a reader has to know, in Markdown. Its first sentence stands in lists.
	Doc string
	// UnknownTool says how an unknown tool is reported: "rpc", as the JSON-RPC error of
	// the protocol (the default), or "result", as a tool result.
	UnknownTool string
	// Mask lists what no failure may show: [MaskPersonal], [MaskAddresses]. Whoever sends
	// a failure masks it.
	Mask []string
	// Session is what a request has to bring before a call is accepted.
	Session SessionRule
	// Retry is what the contract asks of a client that repeats calls.
	Retry RetryRule
	// Poll is how calls wait for long-running work.
	Poll PollRule

	source     [sha256.Size]byte // of the text that it was loaded from, and of the one that it extends
	readOnly   bool              // every tool only reads, unless the server's entry says otherwise
	readers    map[string]bool   // tools that do so in any case: some by name, and those of verify calls
	hintTools  []string
	literals   string // how values are spelled in calls
	verify     map[string]verifyRule
	batch      map[string]string // the argument with the items, by tool
	layout     layout
	ownResults []ownResult // the layouts of tools that return their failures
	upstream   *shape      // of the body of an HTTP error of what the server itself calls, or nil
	question   *shape      // of the JSON object of a question, or nil
	reads      []reads
	ranges     []codeRange
	hints      []alternative
	codes      []*entry
	byCode     map[string]*entry // codes, and words that are read as one
	fallback   *entry

	silence     *bool  // what it means that nothing is said about repeating the call; nil: nothing
	showsValues bool   // it has a place for what was given as an argument
	open        *entry // of words that are not listed, or nil
	members     []contractform.Member
}

// Same reports whether both contracts were loaded from the same text.
func (c *Contract) Same(other *Contract) bool { return c.source == other.source }

// Writes reports whether the contract says that a tool writes, by naming the call that
// settles whether it took effect.
func (c *Contract) Writes(tool string) bool {
	_, writes := c.verify[tool]
	return writes
}

// Reads reports whether the contract says that a tool only reads: all of its tools do,
// the tool is named, or it is the call that settles whether another one took effect. A
// tool for which there is such a call writes.
func (c *Contract) Reads(tool string) bool {
	return !c.Writes(tool) && (c.readOnly || c.readers[tool])
}

// ShowsArguments reports whether a failure may show what was given as an argument: the contract has a place for it.
func (c *Contract) ShowsArguments() bool { return c.showsValues }

// FormatArgument returns the name of the argument by which a call chooses the form of a
// failure's text (markdown, json or both), for tools that have it; "" if there is none.
func (c *Contract) FormatArgument() string { return c.layout.format.argument }

// RetryRule says how a client repeats calls under a contract: at most Retries times after
// the first call. It first waits for Start, or for the wait that the failure states. Each
// later wait is Factor times as long. From the repetition JitterFrom on (the first is 1),
// up to JitterMax is added at random.
type RetryRule struct {
	Retries    int
	Start      time.Duration
	Factor     float64
	JitterMax  time.Duration
	JitterFrom int
}

// RetryRuleOrDefault returns the retry rule of c. A contract without one counts as one that allows three
// repetitions, after 1, 2 and 4 seconds with up to a second at random.
func (c *Contract) RetryRuleOrDefault() RetryRule {
	if c.Retry != (RetryRule{}) {
		return c.Retry
	}
	return RetryRule{Retries: 3, Start: time.Second, Factor: 2, JitterMax: time.Second, JitterFrom: 1}
}

// PollRule says how a call waits for long-running work. If its argument Wait is true, it
// waits until the work has ended or the seconds in its argument Timeout have passed; a
// failure for which [Contract.Retryable] holds does not end the wait, any other does. If
// it does not wait, the member Next of its answer names the call that asks again. The
// zero value says that no call takes that long.
type PollRule struct {
	Wait, Timeout, Next string

	// Status are JSON Pointers into the data of the answer of that call, where one of the words of
	// Pending stands as long as the work goes on.
	Status, Pending []string
}

// SessionRule says what a request has to bring before any message in it is looked at. The
// checks are made in the order [AtCredentialsMissing], [AtCredentialsInvalid],
// [AtUserMissing], [AtUserInvalid]. The zero value asks for nothing.
type SessionRule struct {
	// Path is the path of the endpoint in the form of http.ServeMux, with a segment in
	// braces for the user; empty leaves it to the server.
	Path string
	// Credentials are the headers that hold a client's credentials. All of them are
	// required.
	Credentials []string
	// UserHeader is the header in which the server behind is told the user of the path; a
	// value that the client sends is never passed on. Empty: there is none.
	UserHeader string
}

// Classes of data that a contract keeps out of its failures.
const (
	// MaskPersonal covers e-mail addresses, phone, card, account and social security
	// numbers, and values that are named for such data.
	MaskPersonal = "personal"
	// MaskAddresses covers addresses of machines, including those that the caller wrote.
	MaskAddresses = "addresses"
)
