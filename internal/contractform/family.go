package contractform

import "github.com/recoursehq/recourse/internal/strictyaml"

// The form of a family file, version 1.

// FamilyFile describes the failures of one system, as they appear in the answers of servers that
// call it.
type FamilyFile struct {
	Node     *strictyaml.Node `yaml:",pos"`
	Form     int              `yaml:"form,required" doc:"The version of this form: 1."`
	Family   string           `yaml:"family,required" doc:"The name that 'reads' uses: lower-case letters, digits, - and _."`
	Title    string           `yaml:"title,required" doc:"A name for people."`
	Provider string           `yaml:"provider" doc:"The provider named in failures, such as 'GitHub', if a code or an object shows that they are its own."`
	Doc      string           `yaml:"doc" doc:"What a reader should know, in Markdown."`
	Last     bool             `yaml:"last" doc:"Its texts are plain English rather than one system's words: they count only if no other family matches."`
	Sources  []string         `yaml:"sources,required" doc:"Where the facts come from: public pages and source files."`
	Wraps    []string         `yaml:"wraps" doc:"What a runtime puts before the text of another failure, as templates. The rest is read as if it stood alone."`
	Texts    []FamilyText     `yaml:"texts" doc:"Texts that may stand anywhere in an answer that is a failure."`
	Objects  []FamilyObject   `yaml:"objects" doc:"JSON objects in an answer that is a failure."`
	Codes    []FamilyCodes    `yaml:"codes" doc:"What the system's codes mean, wherever a text or an object has one as 'upstream.code'."`
	Rules    []FamilyRule     `yaml:"rules" doc:"What the system's rules for arguments mean, wherever a violation has one."`
	Examples []FamilyExample  `yaml:"examples,required" doc:"Answers, and how they are read. The linter checks each of them, with a clock that says 2026-01-01 00:00 UTC."`
}

// FamilyText is a part of a [FamilyFile].
type FamilyText struct {
	Node *strictyaml.Node `yaml:",pos"`
	Text *strictyaml.Node `yaml:"text,required" doc:"One or more templates, as alternatives. Case does not matter. '{*}' matches anything on a line, '{words}' a few words of one sentence. A template needs four fixed characters in a row."`
	Only bool             `yaml:"only" doc:"It counts only at the beginning of the answer."`
	Each *strictyaml.Node `yaml:"each" doc:"Templates of one violation, whose paths are those of a violation; each may match any number of times. {text, rule} also states the rule."`
	Kind *strictyaml.Node `yaml:"kind" doc:"What happened. Default: what the code, the violations or the HTTP status say; a text with none of these only adds to what other forms say."`
	Set  *strictyaml.Node `yaml:"set" doc:"What else it says: values by path."`
	// Vague texts are symptoms, such as the exit code of a command.
	Vague bool `yaml:"vague" doc:"It says that something failed, but not why: any other text takes precedence."`
	Weak  bool `yaml:"weak" doc:"It also counts if it is the whole of an answer that says it succeeded, if the server's entry names the family."`
}

// FamilyObject is a part of a [FamilyFile].
type FamilyObject struct {
	Node   *strictyaml.Node `yaml:",pos"`
	Object *strictyaml.Node `yaml:"object,required" doc:"The members, and the paths where their values belong; see Templates and objects."`
	Kind   *strictyaml.Node `yaml:"kind" doc:"What happened. Default: what the code, the violations or the HTTP status say."`
	Set    *strictyaml.Node `yaml:"set" doc:"What else it says: values by path."`
	Weak   bool             `yaml:"weak" doc:"It also counts in an answer that says it succeeded, if it is the whole answer, has no other members, and the server's entry names the family."`
}

// FamilyCodes is a part of a [FamilyFile].
type FamilyCodes struct {
	Node     *strictyaml.Node `yaml:",pos"`
	Kind     *strictyaml.Node `yaml:"kind,required" doc:"The kind that the codes stand for."`
	Codes    []string         `yaml:"codes,required" doc:"The codes. A '*' at the beginning or end matches anything."`
	Anywhere bool             `yaml:"anywhere" doc:"The codes are unmistakable words, and are looked for in texts, too."`
	Vague    bool             `yaml:"vague" doc:"The codes are used for all kinds of failures: a more specific text takes precedence."`
	Set      *strictyaml.Node `yaml:"set" doc:"What else they say: values by path."`
}

// FamilyRule is a part of a [FamilyFile].
type FamilyRule struct {
	Node *strictyaml.Node `yaml:",pos"`
	Rule string           `yaml:"rule,required" doc:"The keyword of JSON Schema."`
	From *strictyaml.Node `yaml:"from,required" doc:"The system's words for it, or its sentences. A '*' at the beginning or end matches anything. A template of the whole sentence, such as 'Expected {want}, received {*}', also says what was expected, or lists '{names}' below the parameter. The first rule in the file that matches counts."`
}

// FamilyExample is a part of a [FamilyFile].
type FamilyExample struct {
	Node       *strictyaml.Node `yaml:",pos"`
	Text       string           `yaml:"text,required" doc:"The text of an answer that is a failure: the system's fixed phrases, with made-up values."`
	Kind       *strictyaml.Node `yaml:"kind,required" doc:"The kind that it is read as."`
	Code       string           `yaml:"code" doc:"The code that is found in it."`
	Wait       string           `yaml:"wait" doc:"The wait that is found in it, such as '30s'."`
	Violations []string         `yaml:"violations" doc:"The violations that are found in it: 'PARAM: RULE'."`
}
