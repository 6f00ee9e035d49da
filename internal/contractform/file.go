package contractform

import (
	"time"

	"github.com/recoursehq/recourse/internal/strictyaml"
)

// The form of a contract file, version 1.

// File is a contract file.
type File struct {
	Node        *strictyaml.Node            `yaml:",pos"`
	Form        int                         `yaml:"form,required" doc:"The version of this form: 1."`
	Name        string                      `yaml:"name,required" doc:"The name that configurations use: lower-case letters, digits, - and _."`
	Title       string                      `yaml:"title" doc:"A name for people. It is not inherited."`
	Doc         string                      `yaml:"doc" doc:"What a reader should know, in Markdown. Lists show the first sentence."`
	Extends     *strictyaml.Node            `yaml:"extends" doc:"The contract that this one extends. Keys that the file leaves out are inherited. The file's codes come before the inherited ones, and replace those of the same name."`
	ReadOnly    *strictyaml.Node            `yaml:"read_only" doc:"Which tools of a server with this contract only read, unless the server's entry says otherwise: 'true' for all, or a list of names. Tools used by verify calls need not be listed."`
	UnknownTool *strictyaml.Node            `yaml:"unknown_tool" doc:"How a call of an unknown tool is reported: as 'rpc', the protocol's JSON-RPC error, or as 'result', a tool result."`
	Literals    *strictyaml.Node            `yaml:"literals" doc:"How texts spell values in calls: 'json' (true, null), the default, or 'python' (True, None)."`
	Mask        *strictyaml.Node            `yaml:"mask" doc:"What is always masked in failures, in addition to what the server's entry masks: 'personal' (e-mail addresses, phone, card and account numbers, and members named for such data), 'addresses' (of machines, including those that the caller wrote)."`
	HintTools   []string                    `yaml:"hint_tools" doc:"Tools named in hints. A hint that names a tool that the server does not have is left out. Tools of 'verify' need not be listed."`
	Session     *SessionFile                `yaml:"session" doc:"What a request must have before its message is read."`
	Retry       *RetryFile                  `yaml:"retry" doc:"How clients should retry calls."`
	Poll        *PollFile                   `yaml:"poll" doc:"How calls wait for long-running work."`
	Default     *strictyaml.Node            `yaml:"default" doc:"The code of every failure that no entry selects."`
	Write       *WriteFile                  `yaml:"write" doc:"Where a failure goes in a tool result."`
	Shape       *strictyaml.Node            `yaml:"shape" doc:"The JSON object: a path for each member; see Shapes. The word 'record' means the record's own JSON form."`
	Returns     []ReturnsFile               `yaml:"returns" doc:"Tools that return their failures in results of their own form, and how."`
	Members     strictyaml.Map[MemberFile]  `yaml:"members" doc:"Documentation of the object's members, by name."`
	Question    *strictyaml.Node            `yaml:"question" doc:"The JSON object of a question to the caller, which is not a failure: a shape over 'message', 'reason', 'fields', 'suggestions' and 'options' (label, value, description, field). Without it a question is written as the failure missing_param."`
	Reads       []ReadFile                  `yaml:"reads" doc:"Other forms of failures, which are read but never written: from a server whose entry names the contract under 'contract', in an answer that is marked as a failure; in any answer of one whose entry names it under 'reads'. The first that matches counts."`
	Ranges      []RangeFile                 `yaml:"ranges" doc:"The kinds of numeric codes that are not listed."`
	Verify      strictyaml.Map[VerifyFile]  `yaml:"verify" doc:"For a tool that writes, by its name: the call that settles whether it took effect."`
	Batch       strictyaml.Map[string]      `yaml:"batch" doc:"For a tool that takes many items at once, by its name: the argument that lists them. If a call fails in part, a client repeats it with only those items that may succeed later."`
	Resources   *ResourcesFile              `yaml:"resources" doc:"Which things a failure is about that does not say so."`
	Upstream    *UpstreamFile               `yaml:"upstream" doc:"How the systems that the server calls report their failures."`
	Hints       *strictyaml.Node            `yaml:"hints" doc:"Hints about the failure itself, whatever its code. The first that applies comes before all others."`
	Templates   map[string]*strictyaml.Node `yaml:"templates" doc:"A place for YAML anchors. It has no meaning of its own."`
	Codes       []CodeFile                  `yaml:"codes,required" doc:"The codes. The first whose 'for' selects a failure is used, so put narrower ones first."`
}

// SessionFile is a part of a [File].
type SessionFile struct {
	Node        *strictyaml.Node `yaml:",pos"`
	Path        string           `yaml:"path" doc:"The path of the endpoint. A segment in braces stands for the user: '/mcp/{user_id}'."`
	Credentials []string         `yaml:"credentials" doc:"The headers that hold a client's credentials. All are required."`
	User        string           `yaml:"user" doc:"The header that tells the server the user from the path. A client's own header of that name is not passed on."`
}

// RetryFile is a part of a [File].
type RetryFile struct {
	Node    *strictyaml.Node `yaml:",pos"`
	Retries int              `yaml:"retries,required" doc:"The maximum number of retries."`
	Start   time.Duration    `yaml:"start,required" doc:"The wait before the first retry, if the failure states none."`
	Factor  float64          `yaml:"factor" default:"2" doc:"What each later wait is multiplied by."`
	Jitter  struct {
		Max  time.Duration `yaml:"max"`
		From int           `yaml:"from" default:"1"`
	} `yaml:"jitter" doc:"'max', the largest random addition to a wait, and 'from', the first retry that has it."`
}

// PollFile is a part of a [File].
type PollFile struct {
	Wait    string `yaml:"wait,required" doc:"The boolean argument that makes a call wait until the work has ended. The default is false."`
	Timeout string `yaml:"timeout,required" doc:"The argument that bounds this wait, in seconds. Until then, retryable failures do not end the wait."`
	Next    string `yaml:"next,required" doc:"The member of an answer that names the call to poll with, if the call did not wait."`

	Default time.Duration `yaml:"default" doc:"How long a call with 'wait' waits if it does not say. A gateway gives a call this time, or the one that it asks for, in addition to its timeout."`

	Status  []string `yaml:"status" doc:"Where that call's answer has the status of the work: JSON Pointers into its data."`
	Pending []string `yaml:"pending" doc:"The status of work that has not ended."`
	Failed  []string `yaml:"failed" doc:"The status of work that has ended without success: a client that polls then reports a failure of kind 'job_failed'."`
	Reason  []string `yaml:"reason" doc:"Where the answer says why the work has failed: JSON Pointers into its data. The first that leads to a text counts."`
}

// ResourcesFile is a part of a [File].
type ResourcesFile struct {
	Node      *strictyaml.Node       `yaml:",pos"`
	Arguments strictyaml.Map[string] `yaml:"arguments" doc:"The type of the thing that an argument names, wherever it is among the arguments of a call. If a call fails because something does not exist, that is the thing whose id or type the failure names, or else the only one that the call names."`
	Tools     strictyaml.Map[string] `yaml:"tools" doc:"The type of the things that a tool makes: what there are too many of if its call exceeds a limit."`
}

// UpstreamFile is a part of a [File].
type UpstreamFile struct {
	Body *strictyaml.Node `yaml:"body,required" doc:"The JSON body of an HTTP error; see Shapes. A word at 'upstream.code' that is listed as a code takes precedence over the status."`
}

// WriteFile is a part of a [File].
type WriteFile struct {
	Node       *strictyaml.Node `yaml:",pos"`
	Text       *strictyaml.Node `yaml:"text,required" doc:"The first text of 'content': the word 'json' for the object, or a template of a line such as '[{code}] {message}'."`
	Indent     int              `yaml:"indent" doc:"The indentation of the object in a text, in spaces; 0 writes it on one line."`
	Hints      *HintListFile    `yaml:"hints" doc:"How hints follow the line."`
	Envelope   *EnvelopeFile    `yaml:"envelope" doc:"An object after the line, written if the failure has details."`
	Human      *strictyaml.Node `yaml:"human" doc:"A template of a text for people, beside the object."`
	Format     *FormatFile      `yaml:"format" doc:"The argument with which a call chooses between the two texts."`
	Structured bool             `yaml:"structured" doc:"Whether the object is also in 'structuredContent', unless the tool declares an outputSchema."`
	Result     string           `yaml:"result" doc:"Another member of the result that holds the object."`
	IsError    bool             `yaml:"is_error" default:"true" doc:"Whether the result has isError."`
	MimeTypes  bool             `yaml:"mime_types" doc:"Whether texts state their media type."`
}

// ReturnsFile is a part of a [File].
type ReturnsFile struct {
	Node  *strictyaml.Node `yaml:",pos"`
	Tools []string         `yaml:"tools,required" doc:"The tools."`
	Write *WriteFile       `yaml:"write,required" doc:"Where their failures go in the result, as in 'write'. With 'structured', the object is what the tool's outputSchema describes."`
	Shape *strictyaml.Node `yaml:"shape,required" doc:"The object; see Shapes. A constant distinguishes it from a success."`
}

// HintListFile is a part of a [File].
type HintListFile struct {
	Before  string `yaml:"before,required" doc:"The text before the first hint."`
	Between string `yaml:"between,required" doc:"The text between hints. Its mark, such as a semicolon, must not occur in a hint."`
}

// EnvelopeFile is a part of a [File].
type EnvelopeFile struct {
	Mark  string           `yaml:"mark,required" doc:"The text before the JSON: a word in brackets."`
	Shape *strictyaml.Node `yaml:"shape,required" doc:"The object; see Shapes."`
}

// FormatFile is a part of a [File].
type FormatFile struct {
	Node     *strictyaml.Node `yaml:",pos"`
	Argument string           `yaml:"argument,required" doc:"The name of the argument, whose values are 'markdown', 'json' and 'both'."`
	Tools    []string         `yaml:"tools" doc:"The tools that take it for certain: their calls are believed even if the tool's inputSchema does not have it or is not known. Those of other tools are believed if the inputSchema has it."`
	Default  string           `yaml:"default" default:"markdown" doc:"What a missing or unknown value means."`
}

// MemberFile is a part of a [File].
type MemberFile struct {
	Present string `yaml:"present" doc:"When the member is present."`
	Doc     string `yaml:"doc" doc:"What the member means."`
	Absent  *bool  `yaml:"absent" doc:"For the member of 'retryable': what its absence means in another server's answer."`
}

// ReadFile is a part of a [File].
type ReadFile struct {
	Node  *strictyaml.Node `yaml:",pos"`
	Text  *strictyaml.Node `yaml:"text" doc:"A whole text of a failed call, as a template."`
	Shape *strictyaml.Node `yaml:"shape" doc:"A JSON object that has every member of this shape; see Shapes. It may occur in a result that says it succeeded, or be a JSON-RPC error."`
	Set   *strictyaml.Node `yaml:"set" doc:"What the form means, unless the text or object says otherwise: values by path."`
}

// RangeFile is a part of a [File].
type RangeFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	From int              `yaml:"from,required" doc:"The first code."`
	To   int              `yaml:"to,required" doc:"The last code."`
	Kind *strictyaml.Node `yaml:"kind,required" doc:"The kind that they are read as."`
	Name string           `yaml:"name" doc:"What they are called."`
}

// VerifyFile is a part of a [File].
type VerifyFile struct {
	Call string                           `yaml:"call,required" doc:"The tool to call, which only reads."`
	Args strictyaml.Map[*strictyaml.Node] `yaml:"args" doc:"Its arguments: JSON Pointers into the failed call's arguments; a pointer in brackets makes a list of the value."`
	With strictyaml.Map[*strictyaml.Node] `yaml:"with" doc:"Further arguments, with fixed values."`
	Look string                           `yaml:"look" doc:"What in its answer settles the question."`
	Node *strictyaml.Node                 `yaml:",pos"`

	Landed *LandedFile `yaml:"landed" doc:"What the answer looks like if the write has landed; see below. Without it a program cannot decide, and has to ask its user."`
}

// LandedFile is a part of a [File].
type LandedFile struct {
	Node     *strictyaml.Node `yaml:",pos"`
	Path     string           `yaml:"path,required" doc:"A JSON Pointer into the answer's data (its structured content, or else the JSON in its text); '*' stands for every item of a list. If more than the last step is missing, the question stays open."`
	Exists   *bool            `yaml:"exists" doc:"With 'true', the write has landed if there is a value; with 'false', if there is none, or if the answer says that there is no such thing."`
	Equals   *strictyaml.Node `yaml:"equals" doc:"The write has landed if the value equals this: a JSON Pointer into the failed call's arguments, or a fixed value."`
	Contains *strictyaml.Node `yaml:"contains" doc:"The write has landed if the value contains this, as part of a text, an item of a list or members of an object: written as in 'equals'."`
}

// CodeFile is a part of a [File].
type CodeFile struct {
	Node      *strictyaml.Node `yaml:",pos"`
	Code      string           `yaml:"code,required" doc:"The word on the wire. A template such as '{upstream.code}' passes on the other side's word, unless that word is listed: then its entry is used. A template also reads words that are not listed."`
	Kind      *strictyaml.Node `yaml:"kind,required" doc:"The kind that the code is read as, unless the object or its status says another kind that has the same code."`
	Name      string           `yaml:"name" doc:"The name of a numeric code."`
	Group     string           `yaml:"group" doc:"The heading under which the reference page lists it."`
	When      string           `yaml:"when" doc:"A sentence: when it is used."`
	For       *strictyaml.Node `yaml:"for" doc:"The failures that it is chosen for: one or more selectors; see Selectors. Default: those of its own kind. Empty: none, unless an author names the code."`
	Reads     []string         `yaml:"reads" doc:"Other words that are read as this code."`
	Set       *strictyaml.Node `yaml:"set" doc:"What the code means beyond its kind when it is read: values by path."`
	Retryable *strictyaml.Node `yaml:"retryable" doc:"Whether the same call may succeed: 'true', 'false', '{status: 5xx}' (depending on the other side's status), 'error' (depending on the failure itself; the default), or 'stated' (only if the other side says so, whatever the kind and the effect). Except with 'stated', a call that may have taken effect is never retryable."`
	Wait      time.Duration    `yaml:"wait" doc:"The minimum wait, if the failure states none."`
	Message   *strictyaml.Node `yaml:"message" doc:"The sentence, in one or more forms: the first that can be filled in is used. A form with '{message}' adds a text before or after it, which may contain 'after.seconds'."`
	Hint      *strictyaml.Node `yaml:"hint" doc:"What to do: one or more texts, or {for, text} with a selector. The first that applies and can be filled in is used."`
	Ask       *AskFile         `yaml:"ask" doc:"The question that is written instead of the failure for some calls, if the contract has a form for questions."`
	HTTP      *HTTPFile        `yaml:"http" doc:"The whole HTTP answer for it, if it is reported over HTTP."`
	RPC       *RPCFile         `yaml:"rpc" doc:"The JSON-RPC error for it, instead of a tool result."`
	Otherwise *strictyaml.Node `yaml:"otherwise" doc:"The code to use if, and only if, no HTTP answer can be given. Default: the failure is a tool result with this code."`
}

// AskFile is a part of a [File].
type AskFile struct {
	Node    *strictyaml.Node `yaml:",pos"`
	For     *strictyaml.Node `yaml:"for,required" doc:"The failures of this code that are a question to the caller: one or more selectors; see Selectors."`
	Message *strictyaml.Node `yaml:"message,required" doc:"The question, a template, in one or more forms: the first that can be filled in is used."`
	Reason  string           `yaml:"reason" doc:"Why it is asked: a word for programs."`
	Fields  []string         `yaml:"fields" doc:"The arguments that an answer gives."`
}

// HTTPFile is a part of a [File].
type HTTPFile struct {
	Node    *strictyaml.Node                 `yaml:",pos"`
	Status  int                              `yaml:"status,required" doc:"The status, 400 to 599."`
	Headers strictyaml.Map[*strictyaml.Node] `yaml:"headers" doc:"Templates by name."`
	Type    string                           `yaml:"type" doc:"The media type of the body."`
	Body    *strictyaml.Node                 `yaml:"body" doc:"The body: JSON with templates. '{shape}' is the contract's object. If both this and 'type' are left out, there is no body."`
}

// RPCFile is a part of a [File].
type RPCFile struct {
	Node    *strictyaml.Node `yaml:",pos"`
	Code    int              `yaml:"code,required" doc:"The code of the error."`
	Message *strictyaml.Node `yaml:"message,required" doc:"Its message, a template, in one or more forms: the first that can be filled in is written, and all are read."`
	Data    *strictyaml.Node `yaml:"data" doc:"Its data: JSON with templates. '{shape}' is the object, with the code that the failure would have in a tool result."`
}
