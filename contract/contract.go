package contract

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"time"

	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Contract says how a server fails: which code each record gets, whether the same call may be repeated, what
// to advise, and how all of it is written. Get one from [Builtin] or [Set.Load]. It is safe for concurrent
// use; do not change its fields.
type Contract struct {
	// Name identifies the contract in configurations.
	Name string
	// Title is a display name; it may be empty.
	Title string
	// Doc is the description for readers, in Markdown. Lists show its first sentence.
	Doc string
	// UnknownTool says how an unknown tool is reported: "result", as a tool result (the default), or "rpc", as the
	// JSON-RPC error of the protocol.
	UnknownTool string
	// Mask lists what no failure may show: [MaskPersonal], [MaskAddresses]. The sender of a failure does the
	// masking.
	Mask []string
	// Session is what a request must carry before a call is accepted.
	Session SessionRule
	// Retry is the rule for clients that repeat calls.
	Retry RetryRule
	// Poll is how calls wait for long-running work.
	Poll PollRule

	source     [sha256.Size]byte // of the text it was loaded from, and of the one it extends
	readOnly   bool              // every tool only reads, unless the server's entry says otherwise
	readers    map[string]bool   // tools that always only read: those listed, and the verify calls
	hintTools  []string
	literals   string // how values are written in calls
	verify     map[string]contractform.VerifyCall
	batch      map[string]string                     // which argument lists the items, by tool
	expects    map[string][]contractform.Expectation // what a success looks like, by tool
	once       map[string][]string                   // which arguments tell a repetition, by tool
	resources  resources
	layout     layout
	ownResults []ownResult // the layouts of tools that return their failures
	upstream   *shape      // body of an HTTP error from a service that the server calls, or nil
	question   *shape      // JSON object of a question, or nil
	reads      []reads
	ranges     []contractform.Range
	hints      []alternative
	codes      []*codeEntry
	byCode     map[string]*codeEntry // codes and their aliases
	fallback   *codeEntry

	silence     *bool      // what a missing retry statement means; nil: nothing
	showsValues bool       // some place in it shows argument values
	open        *codeEntry // the entry for unlisted codes, or nil
	members     []contractform.ObjectMember
}

// Same reports whether both contracts were loaded from the same text.
func (c *Contract) Same(other *Contract) bool { return c.source == other.source }

// Writes reports whether the contract says that a tool writes: it then names a call that checks whether the
// write took effect.
func (c *Contract) Writes(tool string) bool {
	_, writes := c.verify[tool]
	return writes
}

// Reads reports whether the contract says that a tool only reads: all its tools do, the tool is listed, or it
// is a verify call for another tool. A tool that has a verify call of its own writes.
func (c *Contract) Reads(tool string) bool {
	return !c.Writes(tool) && (c.readOnly || c.readers[tool])
}

// ShowsArguments reports whether a failure may show the value of an argument, because the contract has a
// place for it.
func (c *Contract) ShowsArguments() bool { return c.showsValues }

// FormatArgument returns the name of the argument that selects the form of a failure's text (markdown, json
// or both) in tools that have it; "" if there is none.
func (c *Contract) FormatArgument() string { return c.layout.format.Argument }

// FormatTools returns the tools that have this argument whatever their inputSchema says.
func (c *Contract) FormatTools() []string { return slices.Clone(c.layout.format.Tools) }

// Formats are the values of the argument of [Contract.FormatArgument].
func Formats() []string { return []string{formatMarkdown, formatJSON, formatBoth} }

// RetryRule says how clients repeat calls under a contract: at most Retries times after the first call. The
// first wait is Start, or the wait that the failure states. Each later wait is Factor times as long. From
// repetition JitterFrom on (the first is 1), a random time of up to JitterMax is added.
type RetryRule struct {
	Retries    int
	Start      time.Duration
	Factor     float64
	JitterMax  time.Duration
	JitterFrom int
}

// RetryRuleOrDefault returns c's retry rule. The default, for contracts without one, is three repetitions,
// after 1, 2 and 4 seconds plus up to a second at random.
func (c *Contract) RetryRuleOrDefault() RetryRule {
	if c.Retry != (RetryRule{}) {
		return c.Retry
	}
	return RetryRule{Retries: 3, Start: time.Second, Factor: 2, JitterMax: time.Second, JitterFrom: 1}
}

// PollRule says how a call waits for long-running work. If its argument Wait is true, it waits until the work
// has ended or the number of seconds in its argument Timeout has passed. A failure that [Contract.Retryable]
// accepts does not end the wait; any other does. If the call does not wait, the member Next of its answer
// names the call that polls. The zero value says that no call takes that long.
type PollRule struct {
	Wait, Timeout, Next string

	// Default is how long such a call waits if it does not say.
	Default time.Duration

	// Status holds JSON Pointers into the data of the poll call's answer. While the work goes on, one of them
	// leads to a word in Pending. If it has ended without success, one of them leads to a word in Failed, and
	// one of Reason to a text that says why.
	Status, Pending, Failed, Reason []string
}

// maxBudget limits what [PollRule.Budget] returns: a caller must not hold a call for as long as it likes.
const maxBudget = time.Hour

// Budget returns how long a call with these arguments, a JSON object, waits for long-running work: 0 if it does not wait, and
// at most an hour.
func (r PollRule) Budget(arguments []byte) time.Duration {
	member := func(name string) json.Value { return json.Lookup(arguments, json.Pointer("").AppendToken(name)) }
	if r.Wait == "" || string(member(r.Wait)) != "true" {
		return 0
	}
	seconds, err := strconv.ParseFloat(string(member(r.Timeout)), 64)
	if err != nil {
		return min(r.Default, maxBudget)
	}
	return min(clean.Wait(seconds), maxBudget)
}

// SessionRule says what a request must carry before any message in it is looked at. The checks are made in
// this order: [AtCredentialsMissing], [AtCredentialsInvalid], [AtUserMissing], [AtUserInvalid]. The zero
// value requires nothing.
type SessionRule struct {
	// Path is the path of the endpoint in the form of http.ServeMux, with a segment in braces for the user.
	// If it is empty, the server chooses.
	Path string
	// Credentials are the headers that hold a client's credentials. All of them are required.
	Credentials []string
	// UserHeader is the header that tells the server behind the gateway which user the path names. A value
	// from the client is never passed on. Empty means that there is none.
	UserHeader string
}

// Classes of data that a contract keeps out of its failures.
const (
	// MaskPersonal covers e-mail addresses, phone, card, account and social security numbers, and values
	// whose names mark them as such.
	MaskPersonal = "personal"
	// MaskAddresses covers network addresses, including those that the caller wrote.
	MaskAddresses = "addresses"
)
