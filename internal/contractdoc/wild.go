package contractdoc

import (
	"reflect"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
)

const wildPreface = `# Failures in the wild

An answer that is a failure, and is in the form of no contract, is searched for what well-known systems write: their
texts, their JSON and XML, their codes. What is known of a system stands in one file, its family. All of the families
below are built in, and known without any configuration.

An answer that says it succeeded is never taken for a failure because of a family, unless the server's entry names the
family: ` + "`reads: [aws, ./ours.yaml]`" + `. Even then only those forms count that are the whole of the answer,
and that the family marks as ` + "`weak`" + `. Where nothing is recognised, the server's own sentence stays.`

const writingFamilies = `A family of your own is a file like this one:

` + "```yaml\n%s```" + `

` + "`recourse contract lint FILE`" + ` checks it, reads each of its examples, and reports every mistake with its place. Name the file
under ` + "`reads`" + ` in the server's entry, or give it to ` + "`mcptool.WithReads`" + ` in a server of your own: what it
says goes before what the built-in families say. ` + "`recourse schema family`" + ` prints the JSON Schema that editors check the file by.`

// familyExample is a family that the page shows.
const familyExample = `form: 1
family: silo
title: The silo's API
sources: ["https://silo.example.com/errors"]
texts:
- text: "silo: code {upstream.code}"
- {kind: rate_limited, text: "the silo is busy, come back in {after}"}
objects:
- object: {fault: {id: upstream.code, text: message, fields?: {each: violations, item: {name: param, rule: rule}}}}
  weak: true
codes:
- {kind: not_found, codes: [S-404, "S-GONE-*"]}
- {kind: invalid_value, codes: [S-17]}
rules:
- {rule: required, from: [absent]}
examples:
- {text: "silo: code S-404, no such bin", kind: not_found, code: S-404}
- {text: "Sorry, the silo is busy, come back in 2 minutes.", kind: rate_limited, wait: 2m}
- text: '{"fault":{"id":"S-17","text":"no","fields":[{"name":"bin","rule":"absent"}]}}'
  kind: missing_param
  code: S-17
  violations: ["bin: required"]
`

const familyNotes = `Templates, paths and constants are those of [contracts](contracts/README.md). In a family ` + "`{after}`" + ` is a
wait as people and programs spell it (` + "`12s`, `1m30s`, `2 minutes and 5 seconds`" + `; a number counts seconds),
` + "`{at}`" + ` is the point in time up to which to wait (` + "`2026-01-02T15:04:05Z`, `15:04 UTC`" + `, seconds since 1970), and
` + "`{*}`" + ` is anything on the line. A code is a word, a parameter has no spaces, and an HTTP status is one of a failure.

An object has every member that is named; one whose name ends in ` + "`?`" + ` may be missing. A value is a path, a template of a
text (` + "`/data/attributes/{param}`" + `), a list of these of which the first is taken that can hold it, a constant after an equals
sign, or a mapping: of members, ` + "`{any: VALUE}`" + ` for some item of a list, ` + "`{each: PATH, item: VALUE}`" + ` for a list whose
items are those of a list of the record, or ` + "`{members: PATH, name: PATH, item: VALUE}`" + ` for an object whose members are. Of a
violation, ` + "`names`" + ` is a list of names below its ` + "`param`" + `.

Where several forms fit, one that names a code goes first, then objects, then texts, the longer before the shorter, and what an
HTTP status says comes last. What another form adds (a wait, a status, violations) is kept.`

// Wild returns the page about failures in the wild, in Markdown.
func Wild() string {
	p := &page{}
	p.linef("%s", wildPreface)
	rows := [][]string{{"Family", "What", "Recognised as"}}
	var files []*contractform.FamilyFile
	for _, f := range contract.Families() {
		file := contractform.OfFamily(f)
		files = append(files, file)
		rows = append(rows, []string{"[" + code(file.Family) + "](#" + file.Family + ")", file.Title, codesText(exampleKinds(file))})
	}
	p.table(rows...)
	for _, file := range files {
		p.family(file)
	}
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

// exampleKinds returns the kinds of a family's examples, in their order.
func exampleKinds(file *contractform.FamilyFile) []string {
	var kinds []string
	for _, example := range file.Examples {
		if kind := example.Kind.Text(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// family documents one.
func (p *page) family(file *contractform.FamilyFile) {
	p.heading(file.Family)
	p.linef("%s. %s", strings.TrimSuffix(file.Title, "."), strings.TrimSpace(file.Doc))
	rows := [][]string{{"Example", "Read as"}}
	for _, example := range file.Examples {
		read := code(example.Kind.Text())
		if example.Wait != "" {
			read += ", after " + example.Wait
		}
		if len(example.Violations) > 0 {
			read += "; " + codesText(example.Violations)
		}
		rows = append(rows, []string{inCode(example.Text), read})
	}
	p.table(rows...)
	p.linef("Sources:")
	p.list(file.Sources...)
}

// inCode marks a text as code, on one line.
func inCode(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return code(text)
}
