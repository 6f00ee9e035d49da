package contractform

import "github.com/recoursehq/recourse/internal/strictyaml"

// The form of a family file, version 1.

// FamilyFile is a file with the failures of one system, as they are met in the answers of servers
// that call it.
type FamilyFile struct {
	Node     *strictyaml.Node `yaml:",pos"`
	Form     int              `yaml:"form,required" doc:"The version of this form: 1."`
	Family   string           `yaml:"family,required" doc:"The name by which 'reads' chooses the family: lower-case letters, digits, - and _."`
	Title    string           `yaml:"title,required" doc:"A name for people."`
	Provider string           `yaml:"provider" doc:"What the failures say was asked, such as 'GitHub', if a code or an object tells whose they are."`
	Doc      string           `yaml:"doc" doc:"What a reader has to know, in Markdown."`
	Last     bool             `yaml:"last" doc:"Its texts are plain English rather than one system's words: they count only where nobody else says what happened."`
	Sources  []string         `yaml:"sources,required" doc:"Where the facts are from: pages and source files that everybody can read."`
	Wraps    []string         `yaml:"wraps" doc:"What a runtime puts before the text of another failure, as a template. What follows it is read as if it stood alone."`
	Texts    []FamilyText     `yaml:"texts" doc:"Texts that may stand anywhere in an answer that is a failure."`
	Objects  []FamilyObject   `yaml:"objects" doc:"JSON objects."`
	Codes    []FamilyCodes    `yaml:"codes" doc:"What the system's own codes mean, wherever a text or an object has them as 'upstream.code'."`
	Rules    []FamilyRule     `yaml:"rules" doc:"What the system's own rules for arguments mean, wherever a violation has them."`
	Examples []FamilyExample  `yaml:"examples,required" doc:"Answers and how they are read. The linter reads each of them, at the beginning of 2026 in UTC."`
}

// FamilyText is a part of a [FamilyFile].
type FamilyText struct {
	Node *strictyaml.Node `yaml:",pos"`
	Text *strictyaml.Node `yaml:"text,required" doc:"One or more templates, which are alternatives. Letters may be of either case. '{*}' stands for anything on a line. Four characters in a row have to be fixed."`
	Only bool             `yaml:"only" doc:"It counts only where it begins the answer."`
	Each *strictyaml.Node `yaml:"each" doc:"Templates of the places where arguments are wrong, whose paths are those of a violation, each as often as it occurs; {text, rule} says which rule they break."`
	Kind *strictyaml.Node `yaml:"kind" doc:"What happened. Left out: what the code, the violations or the HTTP status say; a text that says none of these adds to what others say."`
	Set  *strictyaml.Node `yaml:"set" doc:"What it says beside that: values by path."`
	Weak bool             `yaml:"weak" doc:"It is also read where it is the whole of an answer that says it succeeded, if the server's entry names the family."`
}

// FamilyObject is a part of a [FamilyFile].
type FamilyObject struct {
	Node   *strictyaml.Node `yaml:",pos"`
	Object *strictyaml.Node `yaml:"object,required" doc:"The members, and the paths that they lead to; see Objects."`
	Kind   *strictyaml.Node `yaml:"kind" doc:"What happened. Left out: what the code, the violations or the HTTP status say."`
	Set    *strictyaml.Node `yaml:"set" doc:"What it says beside that: values by path."`
	Weak   bool             `yaml:"weak" doc:"It is also read in an answer that says it succeeded, if it is the whole of it, with no member that is not named here, and the server's entry names the family."`
}

// FamilyCodes is a part of a [FamilyFile].
type FamilyCodes struct {
	Node     *strictyaml.Node `yaml:",pos"`
	Kind     *strictyaml.Node `yaml:"kind,required" doc:"The kind that the codes stand for."`
	Codes    []string         `yaml:"codes,required" doc:"The codes. A '*' at the beginning or end stands for anything."`
	Anywhere bool             `yaml:"anywhere" doc:"The codes are words that mean nothing else, and are looked for in texts, too."`
	Vague    bool             `yaml:"vague" doc:"The codes are used for all kinds of failures: a text that says more goes before them."`
	Set      *strictyaml.Node `yaml:"set" doc:"What they say beside that: values by path."`
}

// FamilyRule is a part of a [FamilyFile].
type FamilyRule struct {
	Node *strictyaml.Node `yaml:",pos"`
	Rule string           `yaml:"rule,required" doc:"The keyword of JSON Schema."`
	From []string         `yaml:"from,required" doc:"The system's words for it, or sentences. A '*' at the beginning or end stands for anything."`
}

// FamilyExample is a part of a [FamilyFile].
type FamilyExample struct {
	Node       *strictyaml.Node `yaml:",pos"`
	Text       string           `yaml:"text,required" doc:"The text of an answer that is a failure: in words that are nobody's, with the fixed phrases of the system."`
	Kind       *strictyaml.Node `yaml:"kind,required" doc:"The kind that it is read as."`
	Code       string           `yaml:"code" doc:"The code that is found in it."`
	Wait       string           `yaml:"wait" doc:"The wait that is found in it, such as '30s'."`
	Violations []string         `yaml:"violations" doc:"The violations that are found in it: 'PARAM: RULE'."`
}
