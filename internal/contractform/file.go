package contractform

import (
	"time"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// The form of a contract file, version 1.

// File is a contract file.
type File struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The version of this form: 1.
	Form int `yaml:"form,required"`
	// The name that configurations use: lower-case letters, digits, - and _.
	Name string `yaml:"name,required"`
	// A name for people. It is not inherited.
	Title string `yaml:"title"`
	// What a reader should know, in Markdown. Lists show the first sentence.
	Doc string `yaml:"doc"`
	// The contract that this one extends. Keys that the file leaves out are inherited. The file's codes come
	// before the inherited ones, and replace those of the same name.
	Extends *strictyaml.Node `yaml:"extends"`
	// Which tools of a server with this contract only read, unless the server's entry says otherwise: `true`
	// for all, or a list of names. Tools used by verify calls need not be listed.
	ReadOnly *strictyaml.Node `yaml:"read_only"`
	// How a call of an unknown tool is reported: as `result`, a tool result, which is the default, or as `rpc`, the
	// protocol's JSON-RPC error, of which few programs show a model anything.
	UnknownTool *strictyaml.Node `yaml:"unknown_tool"`
	// How texts spell values in calls: `json` (true, null), the default, or `python` (True, None).
	Literals *strictyaml.Node `yaml:"literals"`
	// What is always masked in failures, in addition to what the server's entry masks: `personal` (e-mail
	// addresses, phone, card and account numbers, and members named for such data), `addresses` (of machines,
	// including those that the caller wrote).
	Mask *strictyaml.Node `yaml:"mask"`
	// Tools named in hints. A hint that names a tool that the server does not have is left out. Tools of
	// `verify` need not be listed.
	HintTools []string `yaml:"hint_tools"`
	// What a request must have before its message is read.
	Session *SessionFile `yaml:"session"`
	// How clients should retry calls.
	Retry *RetryFile `yaml:"retry"`
	// How calls wait for long-running work.
	Poll *PollFile `yaml:"poll"`
	// The code of every failure that no entry selects.
	Default *strictyaml.Node `yaml:"default"`
	// Where a failure goes in a tool result.
	Write *WriteFile `yaml:"write"`
	// The JSON object: a path for each member; see Shapes. The word `record` means the record's own JSON
	// form.
	Shape *strictyaml.Node `yaml:"shape"`
	// Tools that return their failures in results of their own form, and how.
	Returns []ReturnsFile `yaml:"returns"`
	// Documentation of the object's members, by name.
	Members strictyaml.Map[MemberFile] `yaml:"members"`
	// The JSON object of a question to the caller, which is not a failure: a shape over `message`, `reason`,
	// `fields`, `suggestions` and `options` (label, value, description, field). Without it a question is
	// written as the failure missing_param.
	Question *strictyaml.Node `yaml:"question"`
	// Other forms of failures, which are read but never written: from a server whose entry names the contract
	// under `contract`, in an answer that is marked as a failure; in any answer of one whose entry names it
	// under `reads`. The first that matches counts.
	Reads []ReadFile `yaml:"reads"`
	// The kinds of numeric codes that are not listed.
	Ranges []RangeFile `yaml:"ranges"`
	// For a tool that writes, by its name: the call that settles whether it took effect.
	Verify strictyaml.Map[VerifyFile] `yaml:"verify"`
	// For a tool that writes, by its name: a JSON Pointer into its arguments, or a list of them, that say
	// which call is a repetition of which. It counts where a server's entry says `once: contract`.
	Once strictyaml.Map[*strictyaml.Node] `yaml:"once"`
	// For a tool, by its name: what a success looks like, as a list. An answer that says success and does not
	// look like it is a failure of kind `bad_response`, and whether a write took effect is then unknown.
	Expects strictyaml.Map[[]ExpectFile] `yaml:"expects"`
	// For a tool that takes many items at once, by its name: the argument that lists them. If a call fails in
	// part, a client repeats it with only those items that may succeed later.
	Batch strictyaml.Map[string] `yaml:"batch"`
	// Which things a failure is about that does not say so.
	Resources *ResourcesFile `yaml:"resources"`
	// How the systems that the server calls report their failures.
	Upstream *UpstreamFile `yaml:"upstream"`
	// Hints about the failure itself, whatever its code. The first that applies comes before all others.
	Hints *strictyaml.Node `yaml:"hints"`
	// A place for YAML anchors. It has no meaning of its own.
	Templates map[string]*strictyaml.Node `yaml:"templates"`
	// The codes. The first whose `for` selects a failure is used, so put narrower ones first.
	Codes []CodeFile `yaml:"codes,required"`
}

// SessionFile is a part of a [File].
type SessionFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The path of the endpoint. A segment in braces stands for the user: `/mcp/{user_id}`.
	Path string `yaml:"path"`
	// The headers that hold a client's credentials. All are required.
	Credentials []string `yaml:"credentials"`
	// The header that tells the server the user from the path. A client's own header of that name is not
	// passed on.
	User string `yaml:"user"`
}

// RetryFile is a part of a [File].
type RetryFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The maximum number of retries.
	Retries int `yaml:"retries,required"`
	// The wait before the first retry, if the failure states none.
	Start time.Duration `yaml:"start,required"`
	// What each later wait is multiplied by.
	Factor float64 `yaml:"factor" default:"2"`
	// `max`, the largest random addition to a wait, and `from`, the first retry that has it.
	Jitter struct {
		Max  time.Duration `yaml:"max"`
		From int           `yaml:"from" default:"1"`
	} `yaml:"jitter"`
}

// PollFile is a part of a [File].
type PollFile struct {
	// The boolean argument that makes a call wait until the work has ended. The default is false.
	Wait string `yaml:"wait,required"`
	// The argument that bounds this wait, in seconds. Until then, retryable failures do not end the wait.
	Timeout string `yaml:"timeout,required"`
	// The member of an answer that names the call to poll with, if the call did not wait.
	Next string `yaml:"next,required"`

	// How long a call with `wait` waits if it does not say. A gateway gives a call this time, or the one that
	// it asks for, in addition to its timeout.
	Default time.Duration `yaml:"default"`

	// Where that call's answer has the status of the work: JSON Pointers into its data.
	Status []string `yaml:"status"`
	// The status of work that has not ended.
	Pending []string `yaml:"pending"`
	// The status of work that has ended without success: a client that polls then reports a failure of kind
	// `job_failed`.
	Failed []string `yaml:"failed"`
	// Where the answer says why the work has failed: JSON Pointers into its data. The first that leads to a
	// text counts.
	Reason []string `yaml:"reason"`
}

// ResourcesFile is a part of a [File].
type ResourcesFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The type of the thing that an argument names, wherever it is among the arguments of a call. If a call
	// fails because something does not exist, that is the thing whose id or type the failure names, or else
	// the only one that the call names.
	Arguments strictyaml.Map[string] `yaml:"arguments"`
	// The type of the things that a tool makes: what there are too many of if its call exceeds a limit.
	Tools strictyaml.Map[string] `yaml:"tools"`
}

// UpstreamFile is a part of a [File].
type UpstreamFile struct {
	// The JSON body of an HTTP error; see Shapes. A word at `upstream.code` that is listed as a code takes
	// precedence over the status.
	Body *strictyaml.Node `yaml:"body,required"`
}

// WriteFile is a part of a [File].
type WriteFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The first text of `content`: the word `json` for the object, or a template of a line such as `[{code}]
	// {message}`.
	Text *strictyaml.Node `yaml:"text,required"`
	// The indentation of the object in a text, in spaces; 0 writes it on one line.
	Indent int `yaml:"indent"`
	// How hints follow the line.
	Hints *HintListFile `yaml:"hints"`
	// An object after the line, written if the failure has details.
	Envelope *EnvelopeFile `yaml:"envelope"`
	// A template of a text for people, beside the object.
	Human *strictyaml.Node `yaml:"human"`
	// The argument with which a call chooses between the two texts.
	Format *FormatFile `yaml:"format"`
	// Whether the object is also in `structuredContent`, unless the tool declares an outputSchema.
	Structured bool `yaml:"structured"`
	// Another member of the result that holds the object.
	Result string `yaml:"result"`
	// Whether the result has isError.
	IsError bool `yaml:"is_error" default:"true"`
	// Whether texts state their media type.
	MimeTypes bool `yaml:"mime_types"`
	// Whether the contract's `hints` follow the message, as sentences of their own: for a form that has no other place
	// for them. The message of an HTTP answer stays as it is.
	Advises bool `yaml:"advises"`
}

// ReturnsFile is a part of a [File].
type ReturnsFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The tools.
	Tools []string `yaml:"tools,required"`
	// Where their failures go in the result, as in `write`. With `structured`, the object is what the tool's
	// outputSchema describes.
	Write *WriteFile `yaml:"write,required"`
	// The object; see Shapes. A constant distinguishes it from a success.
	Shape *strictyaml.Node `yaml:"shape,required"`
}

// HintListFile is a part of a [File].
type HintListFile struct {
	// The text before the first hint.
	Before string `yaml:"before,required"`
	// The text between hints. Its mark, such as a semicolon, must not occur in a hint.
	Between string `yaml:"between,required"`
}

// EnvelopeFile is a part of a [File].
type EnvelopeFile struct {
	// The text before the JSON: a word in brackets.
	Mark string `yaml:"mark,required"`
	// The object; see Shapes.
	Shape *strictyaml.Node `yaml:"shape,required"`
}

// FormatFile is a part of a [File].
type FormatFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The name of the argument, whose values are `markdown`, `json` and `both`.
	Argument string `yaml:"argument,required"`
	// The tools that take it for certain: their calls are believed even if the tool's inputSchema does not
	// have it or is not known. Those of other tools are believed if the inputSchema has it.
	Tools []string `yaml:"tools"`
	// What a missing or unknown value means.
	Default string `yaml:"default" default:"markdown"`
}

// MemberFile is a part of a [File].
type MemberFile struct {
	// When the member is present.
	Present string `yaml:"present"`
	// What the member means.
	Doc string `yaml:"doc"`
	// For the member of `retryable`: what its absence means in another server's answer.
	Absent *bool `yaml:"absent"`
}

// ReadFile is a part of a [File].
type ReadFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// A whole text of a failed call, as a template.
	Text *strictyaml.Node `yaml:"text"`
	// A JSON object that has every member of this shape; see Shapes. It may occur in a result that says it
	// succeeded, or be a JSON-RPC error.
	Shape *strictyaml.Node `yaml:"shape"`
	// What the form means, unless the text or object says otherwise: values by path.
	Set *strictyaml.Node `yaml:"set"`
}

// RangeFile is a part of a [File].
type RangeFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The first code.
	From int `yaml:"from,required"`
	// The last code.
	To int `yaml:"to,required"`
	// The kind that they are read as.
	Kind *strictyaml.Node `yaml:"kind,required"`
	// What they are called.
	Name string `yaml:"name"`
}

// VerifyFile is a part of a [File].
type VerifyFile struct {
	// The tool to call, which only reads.
	Tool string `yaml:"tool,required" was:"call"`
	// Its arguments: JSON Pointers into the failed call's arguments; a pointer in brackets makes a list of
	// the value.
	From strictyaml.Map[*strictyaml.Node] `yaml:"from" was:"args"`
	// Further arguments, with fixed values.
	With strictyaml.Map[*strictyaml.Node] `yaml:"with"`
	// What in its answer settles the question.
	LookAt string           `yaml:"look_at" was:"look"`
	Node   *strictyaml.Node `yaml:",pos"`

	// What the answer looks like if the write has landed; see below. Without it a program cannot decide, and
	// has to ask its user.
	Landed *LandedFile `yaml:"landed"`
}

// LandedFile is a part of a [File].
type LandedFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// A JSON Pointer into the answer's data (its structured content, or else the JSON in its text); `*`
	// stands for every item of a list. If more than the last step is missing, the question stays open.
	Path string `yaml:"path,required"`
	// With `true`, the write has landed if there is a value; with `false`, if there is none, or if the answer
	// says that there is no such thing.
	Exists *bool `yaml:"exists"`
	// The write has landed if the value equals this: a JSON Pointer into the failed call's arguments, or a
	// fixed value.
	Equals *strictyaml.Node `yaml:"equals"`
	// The write has landed if the value contains this, as part of a text, an item of a list or members of an
	// object: written as in `equals`.
	Contains *strictyaml.Node `yaml:"contains"`
}

// ExpectFile is a part of a [File].
type ExpectFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// A JSON Pointer into the answer's data (its structured content, or else the JSON in its text); `*`
	// stands for every item of a list. There must be a value; null is none.
	Path string `yaml:"path,required"`
	// A JSON Pointer into the arguments. If the call has the argument, the value must be a list with an item.
	NotEmptyFor string `yaml:"not_empty_for"`
	// A JSON Pointer into the arguments. If the call has the argument, the value must be the same: the thing
	// that was asked for is the one that was answered. A number equals its text.
	Equals string `yaml:"equals"`
}

// CodeFile is a part of a [File].
type CodeFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The word on the wire. A template such as `{upstream.code}` passes on the other side's word, unless that
	// word is listed: then its entry is used. A template also reads words that are not listed.
	Code string `yaml:"code,required"`
	// The kind that the code is read as, unless the object or its status says another kind that has the same
	// code.
	Kind *strictyaml.Node `yaml:"kind,required"`
	// The name of a numeric code.
	Name string `yaml:"name"`
	// The heading under which the reference page lists it.
	Group string `yaml:"group"`
	// A sentence: when it is used.
	When string `yaml:"when"`
	// The failures that it is chosen for: one or more selectors; see Selectors. Default: those of its own
	// kind. Empty: none, unless an author names the code.
	For *strictyaml.Node `yaml:"for"`
	// Other words that are read as this code.
	Reads []string `yaml:"reads"`
	// What the code means beyond its kind when it is read: values by path.
	Set *strictyaml.Node `yaml:"set"`
	// Whether the same call may succeed: `true`, `false`, `{status: 5xx}` (depending on the other side's
	// status), `error` (depending on the failure itself; the default), or `stated` (only if the other side
	// says so, whatever the kind and the effect). Except with `stated`, a call that may have taken effect is
	// never retryable.
	Retryable *strictyaml.Node `yaml:"retryable"`
	// The minimum wait, if the failure states none.
	Wait time.Duration `yaml:"wait"`
	// The sentence, in one or more forms: the first that can be filled in is used. A form with `{message}`
	// adds a text before or after it, which may contain `after.seconds`.
	Message *strictyaml.Node `yaml:"message"`
	// What to do: one or more texts, or {for, unchanged, text}; see Hints. The first that applies and can be
	// filled in is used.
	Hint *strictyaml.Node `yaml:"hint"`
	// The question that is written instead of the failure for some calls, if the contract has a form for
	// questions.
	Ask *AskFile `yaml:"ask"`
	// The whole HTTP answer for it, if it is reported over HTTP.
	HTTP *HTTPFile `yaml:"http"`
	// The JSON-RPC error for it, instead of a tool result.
	RPC *RPCFile `yaml:"rpc"`
	// The code to use if, and only if, no HTTP answer can be given. Default: the failure is a tool result
	// with this code.
	Otherwise *strictyaml.Node `yaml:"otherwise"`
}

// HintFile is a hint, unless it is a text alone.
type HintFile struct {
	// The failures that it is for: a selector; see Selectors. Default: all.
	For *strictyaml.Node `yaml:"for"`
	// A sentence that comes first if the call is known to have done nothing, such as `Nothing was done.` A server's word
	// is not enough for it.
	Unchanged string `yaml:"unchanged"`
	// The text, a template. A part of it in double brackets is left out if it cannot be filled in:
	// `Check again[[, and wait {after}]].`
	Text *strictyaml.Node `yaml:"text,required"`
}

// AskFile is a part of a [File].
type AskFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The failures of this code that are a question to the caller: one or more selectors; see Selectors. Where the code
	// stands for many kinds, the kind that the sentence tells counts as well.
	For *strictyaml.Node `yaml:"for,required"`
	// The question, a template, in one or more forms: the first that can be filled in is used.
	Message *strictyaml.Node `yaml:"message,required"`
	// Why it is asked: a word for programs.
	Reason string `yaml:"reason"`
	// The arguments that an answer gives.
	Fields []string `yaml:"fields"`
}

// HTTPFile is a part of a [File].
type HTTPFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The status, 400 to 599.
	Status int `yaml:"status,required"`
	// Templates by name.
	Headers strictyaml.Map[*strictyaml.Node] `yaml:"headers"`
	// The media type of the body.
	Type string `yaml:"type"`
	// The body: JSON with templates. `{shape}` is the contract's object. If both this and `type` are left
	// out, there is no body.
	Body *strictyaml.Node `yaml:"body"`
}

// RPCFile is a part of a [File].
type RPCFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The code of the error.
	Code int `yaml:"code,required"`
	// Its message, a template, in one or more forms: the first that can be filled in is written, and all are
	// read.
	Message *strictyaml.Node `yaml:"message,required"`
	// Its data: JSON with templates. `{shape}` is the object, with the code that the failure would have in a
	// tool result.
	Data *strictyaml.Node `yaml:"data"`
}
