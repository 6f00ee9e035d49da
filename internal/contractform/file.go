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
	Name        string                      `yaml:"name,required" doc:"The name by which configurations choose the contract: lower-case letters, digits, - and _."`
	Title       string                      `yaml:"title" doc:"A name for people. It is not taken over from the contract that is extended."`
	Doc         string                      `yaml:"doc" doc:"What a reader has to know, in Markdown. The first sentence stands in lists."`
	Extends     *strictyaml.Node            `yaml:"extends" doc:"The contract that this one builds on. What the file leaves out is as there; its codes come before those that are inherited, and one of the same name takes the other's place."`
	ReadOnly    *strictyaml.Node            `yaml:"read_only" doc:"Which tools of a server with this contract only read, unless the server's entry says otherwise: 'true' for all, or a list of names. The tools that verify calls use are such tools without being listed."`
	UnknownTool *strictyaml.Node            `yaml:"unknown_tool" doc:"Where a call of a tool that is not there is reported: 'rpc', the protocol's JSON-RPC error, or 'result', a tool result."`
	Literals    *strictyaml.Node            `yaml:"literals" doc:"How values are spelled in the calls that texts name: 'json' (true, null), which is meant when it is left out, or 'python' (True, None)."`
	Mask        *strictyaml.Node            `yaml:"mask" doc:"What no failure in this contract shows, whatever the server's entry masks beside it: 'personal' (e-mail addresses, phone, card and account numbers, and members named for such data), 'addresses' (of machines, also those that the caller wrote)."`
	HintTools   []string                    `yaml:"hint_tools" doc:"Tools that hints name. A hint is left out where the server does not have a tool that it names. Tools of 'verify' count without being listed."`
	Session     *SessionFile                `yaml:"session" doc:"What a request has to bring before any message in it is looked at."`
	Retry       *RetryFile                  `yaml:"retry" doc:"What the contract asks of clients that repeat calls."`
	Poll        *PollFile                   `yaml:"poll" doc:"How calls wait for work that takes long."`
	Default     *strictyaml.Node            `yaml:"default" doc:"The code of every failure that no entry selects."`
	Write       *WriteFile                  `yaml:"write" doc:"Where a failure stands in a tool result."`
	Shape       *strictyaml.Node            `yaml:"shape" doc:"The JSON object: a path for each member; see Shapes. The word 'record' stands for the record's own JSON form."`
	Returns     []ReturnsFile               `yaml:"returns" doc:"Tools that return their failures as results of their own kind, and how."`
	Members     strictyaml.Map[MemberFile]  `yaml:"members" doc:"Documentation of the object's members, by name."`
	Question    *strictyaml.Node            `yaml:"question" doc:"The JSON object of a question to the caller, which is not a failure: a shape over 'message', 'reason', 'fields', 'suggestions' and 'options' (label, value, description, field). Without it a question is written as the failure missing_param."`
	Reads       []ReadFile                  `yaml:"reads" doc:"Other forms of a failure, which are read from a server that is known to keep the contract and never written. The first that fits is taken."`
	Ranges      []RangeFile                 `yaml:"ranges" doc:"The kinds of codes that are numbers and not listed."`
	Verify      strictyaml.Map[VerifyFile]  `yaml:"verify" doc:"For a tool that writes, by its name: the call that settles whether it took effect."`
	Batch       strictyaml.Map[string]      `yaml:"batch" doc:"For a tool that takes many items at once, by its name: the argument that lists them. Where a call fails in part, a client repeats it with those items alone that may succeed later."`
	Upstream    *UpstreamFile               `yaml:"upstream" doc:"How what the server itself calls tells of its failures."`
	Hints       *strictyaml.Node            `yaml:"hints" doc:"Hints about the failure itself, whatever its code. The first that fits comes before all others."`
	Templates   map[string]*strictyaml.Node `yaml:"templates" doc:"A place for YAML anchors that other values use. Nothing else is read from it."`
	Codes       []CodeFile                  `yaml:"codes,required" doc:"The codes. The first whose 'for' selects a failure is taken, so that the narrower stand first."`
}

// SessionFile is a part of a [File].
type SessionFile struct {
	Node        *strictyaml.Node `yaml:",pos"`
	Path        string           `yaml:"path" doc:"The path of the endpoint, with a segment in braces for the user where it names one: '/mcp/{user_id}'."`
	Credentials []string         `yaml:"credentials" doc:"The headers that hold a client's credentials. Each has to be there."`
	User        string           `yaml:"user" doc:"The header in which the server behind is told the user of the path. One that a client sends is not passed on."`
}

// RetryFile is a part of a [File].
type RetryFile struct {
	Node    *strictyaml.Node `yaml:",pos"`
	Retries int              `yaml:"retries,required" doc:"How often a call is repeated at most."`
	Start   time.Duration    `yaml:"start,required" doc:"The wait before the first repetition, where the failure states none."`
	Factor  float64          `yaml:"factor" default:"2" doc:"What each later wait is multiplied by."`
	Jitter  struct {
		Max  time.Duration `yaml:"max"`
		From int           `yaml:"from" default:"1"`
	} `yaml:"jitter" doc:"'max', a random addition to a wait, and 'from', the first repetition that has it."`
}

// PollFile is a part of a [File].
type PollFile struct {
	Wait    string `yaml:"wait,required" doc:"The argument, a boolean, by which a call waits until the work has ended. Left out of a call it is false."`
	Timeout string `yaml:"timeout,required" doc:"The argument with the budget of such a wait, in seconds. Until it is spent, failures that are retryable do not end the wait."`
	Next    string `yaml:"next,required" doc:"The member of an answer that names the call which asks again, where the call did not wait."`

	Status  []string `yaml:"status" doc:"Where the answer of that call says how the work gets on: JSON Pointers into its data."`
	Pending []string `yaml:"pending" doc:"The words that stand there as long as the work goes on."`
}

// UpstreamFile is a part of a [File].
type UpstreamFile struct {
	Body *strictyaml.Node `yaml:"body,required" doc:"The JSON body of an HTTP error; see Shapes. A word at 'upstream.code' that is listed as a code goes before the status."`
}

// WriteFile is a part of a [File].
type WriteFile struct {
	Node       *strictyaml.Node `yaml:",pos"`
	Text       *strictyaml.Node `yaml:"text,required" doc:"The first text of 'content': the word 'json' for the object, or a template of a line such as '[{code}] {message}'."`
	Indent     int              `yaml:"indent" doc:"Spaces by which the object is indented in a text; 0 writes it on one line."`
	Hints      *HintListFile    `yaml:"hints" doc:"How hints follow the line."`
	Envelope   *EnvelopeFile    `yaml:"envelope" doc:"Structure behind the line, written when the failure has details."`
	Human      *strictyaml.Node `yaml:"human" doc:"A template of a text for people, beside the object."`
	Format     *FormatFile      `yaml:"format" doc:"The argument by which a call chooses between the two texts."`
	Structured bool             `yaml:"structured" doc:"The object stands in 'structuredContent' too, unless the tool declares an outputSchema."`
	Result     string           `yaml:"result" doc:"The object stands in this member of the result too."`
	IsError    bool             `yaml:"is_error" default:"true" doc:"The result says isError."`
	MimeTypes  bool             `yaml:"mime_types" doc:"Texts name their media type."`
}

// ReturnsFile is a part of a [File].
type ReturnsFile struct {
	Node  *strictyaml.Node `yaml:",pos"`
	Tools []string         `yaml:"tools,required" doc:"The tools."`
	Write *WriteFile       `yaml:"write,required" doc:"Where a failure of theirs stands in the result, as 'write' says of the others. With 'structured', the object is what the outputSchema of the tool describes."`
	Shape *strictyaml.Node `yaml:"shape,required" doc:"Its object; see Shapes. A constant tells it from a success."`
}

// HintListFile is a part of a [File].
type HintListFile struct {
	Before  string `yaml:"before,required" doc:"The text before the first hint."`
	Between string `yaml:"between,required" doc:"The text between hints. Its mark, such as a semicolon, does not stand inside a hint."`
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
	Default  string           `yaml:"default" default:"markdown" doc:"What a missing or unknown value means."`
}

// MemberFile is a part of a [File].
type MemberFile struct {
	Present string `yaml:"present" doc:"When it is there."`
	Doc     string `yaml:"doc" doc:"What it tells."`
	Absent  *bool  `yaml:"absent" doc:"For the member of 'retryable': what it means when another server leaves it out."`
}

// ReadFile is a part of a [File].
type ReadFile struct {
	Node  *strictyaml.Node `yaml:",pos"`
	Text  *strictyaml.Node `yaml:"text" doc:"A whole text of a failed call, as a template."`
	Shape *strictyaml.Node `yaml:"shape" doc:"A JSON object that has every member of this shape; see Shapes. It may stand in a call that says that it succeeded, and be a JSON-RPC error."`
	Set   *strictyaml.Node `yaml:"set" doc:"What the form says where the text or object does not say otherwise: values by path."`
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
	Args strictyaml.Map[*strictyaml.Node] `yaml:"args" doc:"Its arguments: JSON Pointers into those of the failed call; one in brackets makes a list of the value."`
	With strictyaml.Map[*strictyaml.Node] `yaml:"with" doc:"Further arguments, with fixed values."`
	Look string                           `yaml:"look" doc:"What in its answer settles the question."`
	Node *strictyaml.Node                 `yaml:",pos"`

	Landed *LandedFile `yaml:"landed" doc:"What the answer looks like when the write has landed; see below. Without it a program cannot decide, and tells its user."`
}

// LandedFile is a part of a [File].
type LandedFile struct {
	Node     *strictyaml.Node `yaml:",pos"`
	Path     string           `yaml:"path,required" doc:"A JSON Pointer into the data of the answer (its structured content, else the JSON of its text); '*' stands for every item of a list. Where more of it is missing than its end, the question stays open."`
	Exists   *bool            `yaml:"exists" doc:"'true': the write has landed if there is something, 'false': if there is nothing, also if the answer says that there is no such thing."`
	Equals   *strictyaml.Node `yaml:"equals" doc:"The write has landed if what is there is this: a JSON Pointer into the arguments of the failed call, or a fixed value."`
	Contains *strictyaml.Node `yaml:"contains" doc:"The write has landed if what is there holds this, as a part of a text, an item of a list or the members of an object: written as for 'equals'."`
}

// CodeFile is a part of a [File].
type CodeFile struct {
	Node      *strictyaml.Node `yaml:",pos"`
	Code      string           `yaml:"code,required" doc:"The word on the wire. One that is a template, such as '{upstream.code}', passes on a word of the other side, unless it is listed: then that entry is meant. It also reads words that are not listed."`
	Kind      *strictyaml.Node `yaml:"kind,required" doc:"The kind that the code is read as, unless the object or its status says another one for which the contract has the same code."`
	Name      string           `yaml:"name" doc:"What a code that is a number is called."`
	Group     string           `yaml:"group" doc:"The heading under which the page lists it."`
	When      string           `yaml:"when" doc:"A sentence: when it is used."`
	For       *strictyaml.Node `yaml:"for" doc:"The failures that it is chosen for: one or more selectors; see Selectors. Left out: those of its own kind. Empty: only when an author names it."`
	Reads     []string         `yaml:"reads" doc:"Other words that are read as this code."`
	Set       *strictyaml.Node `yaml:"set" doc:"What the code says beyond its kind, when it is read: values by path."`
	Retryable *strictyaml.Node `yaml:"retryable" doc:"Whether the same call may succeed: 'true', 'false', '{status: 5xx}' by the status of the other side, 'error' by the failure itself, which is also meant when it is left out, or 'stated': only where the other side says so, whatever the kind and the effect. Otherwise, that a call may have taken effect is never overruled."`
	Wait      time.Duration    `yaml:"wait" doc:"The least wait, where the failure states none."`
	Message   *strictyaml.Node `yaml:"message" doc:"The sentence, in one or more forms; the first is taken that can be filled in. A form with '{message}' puts a text before or behind it, which may name 'after.seconds'."`
	Hint      *strictyaml.Node `yaml:"hint" doc:"What to do: one or more texts, or {for, text} with a selector; the first is taken that fits and can be filled in."`
	HTTP      *HTTPFile        `yaml:"http" doc:"The whole HTTP answer that stands for it, where there is one to give."`
	RPC       *RPCFile         `yaml:"rpc" doc:"The JSON-RPC error that stands for it, in place of a tool result."`
	Otherwise *strictyaml.Node `yaml:"otherwise" doc:"The code to use where no HTTP answer can be given, and never where one can. Left out: the failure is a tool result with this code."`
}

// HTTPFile is a part of a [File].
type HTTPFile struct {
	Node    *strictyaml.Node                 `yaml:",pos"`
	Status  int                              `yaml:"status,required" doc:"The status, 400 to 599."`
	Headers strictyaml.Map[*strictyaml.Node] `yaml:"headers" doc:"Templates by name."`
	Type    string                           `yaml:"type" doc:"The media type of the body."`
	Body    *strictyaml.Node                 `yaml:"body" doc:"The body: JSON with templates. '{shape}' is the contract's object. Left out, with 'type': no body."`
}

// RPCFile is a part of a [File].
type RPCFile struct {
	Node    *strictyaml.Node `yaml:",pos"`
	Code    int              `yaml:"code,required" doc:"The code of the error."`
	Message *strictyaml.Node `yaml:"message,required" doc:"Its message, a template, in one or more forms: the first is written that can be filled in, and each is read."`
	Data    *strictyaml.Node `yaml:"data" doc:"Its data: JSON with templates. '{shape}' is the object, with the code that the failure would have in a tool result."`
}
