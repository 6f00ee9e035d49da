package contractform

import "github.com/recoursehq/recourse/internal/yaml/strictyaml"

// The form of a family file, version 1.

// FamilyFile describes the failures of one system, as they appear in the answers of servers that
// call it.
type FamilyFile struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The version of this form: 1.
	Form int `yaml:"form,required"`
	// The name that `reads` uses: lower-case letters, digits, - and _.
	Family string `yaml:"family,required"`
	// A name for people.
	Title string `yaml:"title,required"`
	// The provider named in failures, such as `GitHub`, if a code or an object shows that they are its own.
	Provider string `yaml:"provider"`
	// What a reader should know, in Markdown.
	Doc string `yaml:"doc"`
	// Its texts are plain English rather than one system's words: they count only if no other family matches, and `is not` stands for
	// `isn't` as well.
	Last bool `yaml:"last"`
	// Where the facts come from: public pages and source files.
	Sources []string `yaml:"sources,required"`
	// What a runtime puts before the text of another failure, as templates. The rest is read as if it stood
	// alone.
	Wraps []string `yaml:"wraps"`
	// Texts that may stand anywhere in an answer that is a failure.
	Texts []FamilyText `yaml:"texts"`
	// JSON objects in an answer that is a failure.
	Objects []FamilyObject `yaml:"objects"`
	// What the system's codes mean, wherever a text or an object has one as `upstream.code`.
	Codes []FamilyCodes `yaml:"codes"`
	// What the system's rules for arguments mean, wherever a violation has one.
	Rules []FamilyRule `yaml:"rules"`
	// Answers, and how they are read. The linter checks each of them, with a clock that says 2026-01-01 00:00
	// UTC.
	Examples []FamilyExample `yaml:"examples,required"`
}

// FamilyText is a part of a [FamilyFile].
type FamilyText struct {
	Node *strictyaml.Node `yaml:",pos"`
	// One or more templates, as alternatives. Case does not matter. `{*}` matches anything on a line,
	// `{words}` a few words of one sentence. A template needs four fixed characters in a row.
	Text *strictyaml.Node `yaml:"text,required"`
	// It counts only at the beginning of the answer.
	Only bool `yaml:"only"`
	// Templates of one violation, whose paths are those of a violation; each may match any number of times.
	// {text, rule} also states the rule.
	Each *strictyaml.Node `yaml:"each"`
	// What happened. Default: what the code, the violations or the HTTP status say; a text with none of these
	// only adds to what other forms say.
	Kind *strictyaml.Node `yaml:"kind"`
	// What else it says: values by path.
	Set *strictyaml.Node `yaml:"set"`
	// It says that something failed, but not why: any other text takes precedence.
	Vague bool `yaml:"vague"`
	// It says what failed, and behind the next colon of its sentence stands why: what is recognised there takes precedence.
	Wrapper bool `yaml:"wrapper"`
	// It also counts if it is the whole of an answer that says it succeeded, if the server's entry names the
	// family.
	Weak bool `yaml:"weak"`
}

// FamilyObject is a part of a [FamilyFile].
type FamilyObject struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The members, and the paths where their values belong; see Templates and objects.
	Object *strictyaml.Node `yaml:"object,required"`
	// What happened. Default: what the code, the violations or the HTTP status say.
	Kind *strictyaml.Node `yaml:"kind"`
	// What else it says: values by path.
	Set *strictyaml.Node `yaml:"set"`
	// It also counts in an answer that says it succeeded, if it is the whole answer, has no other members,
	// and the server's entry names the family.
	Weak bool `yaml:"weak"`
}

// FamilyCodes is a part of a [FamilyFile].
type FamilyCodes struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The kind that the codes stand for.
	Kind *strictyaml.Node `yaml:"kind,required"`
	// The codes. A `*` at the beginning or end matches anything.
	Codes []string `yaml:"codes,required"`
	// The codes are unmistakable words, and are looked for in texts, too.
	Anywhere bool `yaml:"anywhere"`
	// The codes are used for all kinds of failures: a more specific text takes precedence.
	Vague bool `yaml:"vague"`
	// What else they say: values by path.
	Set *strictyaml.Node `yaml:"set"`
}

// FamilyRule is a part of a [FamilyFile].
type FamilyRule struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The keyword of JSON Schema.
	Rule string `yaml:"rule,required"`
	// The system's words for it, or its sentences. A `*` at the beginning or end matches anything. A template
	// of the whole sentence, such as `Expected {want}, received {*}`, also says what was expected, or lists
	// `{names}` below the parameter. The first rule in the file that matches counts.
	From *strictyaml.Node `yaml:"from,required"`
}

// FamilyExample is a part of a [FamilyFile].
type FamilyExample struct {
	Node *strictyaml.Node `yaml:",pos"`
	// The text of an answer that is a failure: the system's fixed phrases, with made-up values.
	Text string `yaml:"text,required"`
	// The kind that it is read as.
	Kind *strictyaml.Node `yaml:"kind,required"`
	// The code that is found in it.
	Code string `yaml:"code"`
	// The wait that is found in it, such as `30s`.
	Wait string `yaml:"wait"`
	// The violations that are found in it: `PARAM: RULE`.
	Violations []string `yaml:"violations"`
}
