package contractdoc

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
)

const wildPreface = `# Failures in the wild

If an answer is a failure, but not in the form of any contract, the gateway looks in it for what well-known systems write: their
texts, JSON, XML and codes. Each system is described in one file, its family, with examples and sources. All families below are
built in, and need no configuration.

A family never turns a success into a failure, unless the server's entry names it: ` + "`reads: [aws, ./ours.yaml]`" + `. Even then,
only forms that are marked as ` + "`weak`" + ` count, and only if they are the whole answer. If nothing is recognised, the server's
own sentence is kept.

Of an error object, the model is told the sentence, wherever the object has it. What else is in the object, such as the values
that would be valid, stands behind the sentence if the object is a tool's whole text. The text of an HTTP answer counts as its
sentence if it is short and no page.

Where a text names what a person has to set up at the server first (a program, a browser, a key in the environment, room on a disk), that
counts more than whatever failed because of it, and the advice is ` + "`after_setup`" + `.`

const failuresSayingSuccess = `## Failures that say success

Many servers answer with a failure and say success. What plainly says that it failed is counted in
` + "`recourse_seeming_failures_total`" + `, and shown in the log, the [journal](journal.md) and the console as "said
success, looks failed", with the line of the server's entry that has clients told: ` + "`reads: slack`" + ` if it is
in a form of that family marked as ` + "`weak`, else `reads: general`" + `. Without the line the answer passes as it
is, byte for byte. To ` + "`general`" + ` belong, of a result whose only text or structured content says nothing else:

- an object with ` + "`ok` or `success: false`" + ` and an error, or with a sentence and the ` + "`status`" + `
  ` + "`error`, `failure` or `failed`" + `;
- an object that has an ` + "`error`" + ` and nothing that was asked for, by itself or in the ` + "`result`" + ` into
  which FastMCP puts what a tool returns;
- errors in place of an answer, as in GraphQL: ` + "`errors`" + ` beside ` + "`data: null`" + ` or no ` + "`data`" + `;
- ` + "`results`, `responses` or `outcomes`" + ` each of which says that it failed;
- the page of an HTTP error, or a text such as ` + "`502 Bad Gateway`" + `.

What has an id of its own, such as a job that has failed, is an answer about a failure, and passes. Answers of more than
64 KiB are not looked at.`

const writingFamilies = `A family of your own is a file like this one:

` + "```yaml\n%s```" + `

` + "`recourse contract lint FILE`" + ` checks it, reads each of its examples, and reports every mistake with its position, a text that is
listed twice and a rule that can never win among them. Name the file
under ` + "`reads`" + ` in the server's entry, or pass it to ` + "`mcptool.WithFamilies`" + ` in a server of your own. It takes
precedence over the built-in families. ` + "`recourse schema family`" + ` prints the JSON Schema that editors check the file by.`

// familyExample is a family that the page shows.
const familyExample = `form: 1
family: silo
title: The silo's API
sources: ["https://silo.example.com/errors"]
texts:
- text: "silo: code {upstream.code}"
- {kind: rate_limited, text: "the silo is busy, come back in {after}"}
- {kind: invalid_value, text: "the silo refuses:", each: ["\\n- {param}: {message}"]} # each line is a violation
objects:
- object: {fault: {id: upstream.code, text: message, fields?: {each: violations, item: {name: param, rule: rule}}}}
  weak: true
codes:
- {kind: not_found, codes: [S-404, "S-GONE-*"]}
- {kind: invalid_value, codes: [S-17]}
rules:
- {rule: required, from: [absent]}
- {rule: type, from: ["takes a {want}, not a {*}"]} # the sentence also says what was expected
examples:
- {text: "silo: code S-404, no such bin", kind: not_found, code: S-404}
- {text: "Sorry, the silo is busy, come back in 2 minutes.", kind: rate_limited, wait: 2m}
- text: '{"fault":{"id":"S-17","text":"no","fields":[{"name":"bin","rule":"absent"}]}}'
  kind: missing_param
  code: S-17
  violations: ["bin: required"]
- text: "the silo refuses:\\n- bin: absent\\n- tons: takes a number, not a word"
  kind: missing_param
  violations: ["bin: required", "tons: type"]
`

const familyNotes = `Templates, paths and constants work as in [contracts](contracts/README.md). In a family, ` + "`{after}`" + `
matches a wait as people and programs write it (` + "`12s`, `1m30s`, `2 minutes and 5 seconds`" + `; a bare number means seconds),
` + "`{at}`" + ` a time to wait for (` + "`2026-01-02T15:04:05Z`, `15:04 UTC`" + `, seconds since 1970), ` + "`{*}`" + ` anything on
the line, and ` + "`{words}`" + ` a few words that stay within a sentence. A code is one word, a parameter has no spaces,
and an HTTP status is 400 or more.

An object must have every member that is named; a ` + "`?`" + ` after the name makes a member optional. The value of a member is one of:

- a path, or a template of a text (` + "`/data/attributes/{param}`" + `), or a list of these: the first that can hold the value counts
- ` + "`=`" + ` and a constant, which the member must equal; ` + "`{is: =CONSTANT, set: {PATH: VALUE}}`" + ` also says what that means
- a mapping of members
- ` + "`{any: VALUE}`" + `: some item of a list
- ` + "`{each: PATH, item: VALUE}`" + `: a list, whose items become the items of a list in the record
- ` + "`{members: PATH, name: PATH, item: VALUE}`" + `: the same for the members of an object

**Several violations** are read from a list in an object with ` + "`each: violations`" + `, and from a text with
` + "`each`" + ` and a template of one violation. The paths are those of a violation: ` + "`param`, `pointer`, `message`, `rule`," + `
` + "`want`" + `, and ` + "`names`" + ` for names below the parameter. A template that ends with ` + "`{message}`" + ` takes the
rest of the line, up to the next violation. ` + "`rules`" + ` then turn the system's words and sentences into keywords of JSON
Schema. The families ` + "`zod`, `ajv` and `pydantic`" + ` are written this way.

If several forms match, one that names a code takes precedence, then objects, then texts, longer ones first; an HTTP status comes last.
What the other forms add (a wait, a status, violations) is kept.`

// Wild returns the page about failures in the wild, in Markdown.
func Wild() string {
	p := &pageWriter{}
	p.linef("%s", wildPreface)
	rows := [][]string{{"Family", "What"}}
	for _, f := range contract.Families() {
		file := contractform.OfFamily(f)
		rows = append(rows, []string{fmt.Sprintf("[%s](../contract/internal/wild/families/%[1]s.yaml)", file.Family), file.Title})
	}
	p.table(rows...)
	p.linef("\n%s", failuresSayingSuccess)
	p.heading("Writing a family")
	p.linef(writingFamilies, familyExample)
	p.keys("The file", reflect.TypeFor[contractform.FamilyFile]())
	p.keys("`texts`: an entry", reflect.TypeFor[contractform.FamilyText]())
	p.keys("`objects`: an entry", reflect.TypeFor[contractform.FamilyObject]())
	p.keys("`codes`: an entry", reflect.TypeFor[contractform.FamilyCodes]())
	p.keys("`rules`: an entry", reflect.TypeFor[contractform.FamilyRule]())
	p.keys("`examples`: an entry", reflect.TypeFor[contractform.FamilyExample]())
	p.heading("Templates and objects")
	p.linef("%s", familyNotes)
	return strings.TrimRight(p.b.String(), "\n") + "\n"
}
