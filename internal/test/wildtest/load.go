package wildtest

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

//go:embed testdata
var embedded embed.FS

// A Corpus is what the recognition is measured with.
type Corpus struct {
	Failures  []Specimen
	Innocents []Innocent
}

// Load reads the corpus. Its error lists every mistake in the files.
func Load() (*Corpus, error) {
	files, err := fs.Sub(embedded, "testdata")
	if err != nil {
		return nil, err
	}
	return LoadFrom(files)
}

// LoadFrom reads a corpus from other files, as Load does.
func LoadFrom(files fs.FS) (*Corpus, error) {
	l := loader{files: files, corpus: &Corpus{}, places: map[string]string{}}
	l.each("seen/*.yaml", l.failures)
	l.each("held/*.yaml", l.failures)
	l.each("innocent/*.yaml", l.innocents)
	if l.errs != nil {
		return nil, errors.Join(l.errs...)
	}
	return l.corpus, nil
}

type loader struct {
	files  fs.FS
	corpus *Corpus
	places map[string]string // where each answer occurs
	errs   []error
}

// each reads the files that match a pattern, and passes each to read with its name, without the extension.
func (l *loader) each(pattern string, read func(doc *strictyaml.Document, dir, name string)) {
	names, err := fs.Glob(l.files, pattern)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("there is no %s", pattern)
	}
	if err != nil {
		l.errs = append(l.errs, err)
	}
	for _, file := range names {
		src, err := fs.ReadFile(l.files, file)
		if err != nil {
			l.errs = append(l.errs, err)
			continue
		}
		doc, err := strictyaml.Parse(file, src)
		if err != nil {
			l.errs = append(l.errs, err)
			continue
		}
		read(doc, path.Dir(file), strings.TrimSuffix(path.Base(file), ".yaml"))
		if err := doc.Err(); err != nil {
			l.errs = append(l.errs, err)
		}
	}
}

// failureEntry is a failure in a file.
type failureEntry struct {
	Source string     `yaml:"source,required"`
	Text   *string    `yaml:"text"`   // of a tool's result with isError
	Result *string    `yaml:"result"` // the whole CallToolResult, as JSON
	HTTP   *httpEntry `yaml:"http"`
	// Reads says that the server is known to report failures in this form, without isError.
	Reads      bool          `yaml:"reads"`
	Kind       oneOrMore     `yaml:"kind,required"`
	After      time.Duration `yaml:"after"`
	Violations *[]string     `yaml:"violations"`
	Retry      oneOrMore     `yaml:"retry"`
	Message    string        `yaml:"message"`
}

type httpEntry struct {
	Status  int               `yaml:"status,required"`
	Headers map[string]string `yaml:"headers"`
	Body    string            `yaml:"body"`
}

// oneOrMore is a word or a list of words.
type oneOrMore []string

// UnmarshalYAML reads either.
func (o *oneOrMore) UnmarshalYAML(n *strictyaml.Node) error {
	if n.Kind() == strictyaml.KindSequence {
		return n.Decode((*[]string)(o))
	}
	var word string
	err := n.Decode(&word)
	*o = oneOrMore{word}
	return err
}

func (l *loader) failures(doc *strictyaml.Document, dir, family string) {
	var entries strictyaml.Map[failureEntry]
	doc.Decode(&entries)
	for i := range entries {
		e := &entries[i]
		c := checker{doc: doc, at: e.Pos, name: e.Key}
		c.word(e.Key)
		held := Held(family, e.Key)
		if held != (dir == "held") {
			c.wrongf("stands in the wrong half: its name puts it into %s", half(held))
		}
		l.corpus.Failures = append(l.corpus.Failures, Specimen{
			Family: family, Name: e.Key, Held: held, Source: e.Value.Source,
			Answer: l.answer(&c, &e.Value), Want: c.want(&e.Value),
		})
	}
}

func half(held bool) string {
	if held {
		return "held"
	}
	return "seen"
}

func (l *loader) innocents(doc *strictyaml.Document, _, topic string) {
	var entries strictyaml.Map[innocentEntry]
	doc.Decode(&entries)
	for i := range entries {
		e := &entries[i]
		c := checker{doc: doc, at: e.Pos, name: e.Key}
		c.word(e.Key)
		result := e.Value.result
		if result == nil {
			result = textResult(e.Value.text, false)
		}
		c.result(result)
		if c.marked {
			c.wrongf("has isError: that is a failure")
		}
		l.once(&c, string(result))
		l.corpus.Innocents = append(l.corpus.Innocents, Innocent{Topic: topic, Name: e.Key, Result: result})
	}
}

// innocentEntry is a text, or `{result: JSON}`.
type innocentEntry struct {
	text   string
	result json.Value
}

// UnmarshalYAML reads either.
func (e *innocentEntry) UnmarshalYAML(n *strictyaml.Node) error {
	if n.Kind() != strictyaml.KindMapping {
		return n.Decode(&e.text)
	}
	var whole struct {
		Result string `yaml:"result,required"`
	}
	err := n.Decode(&whole)
	e.result = json.Value(whole.Result)
	return err
}

// answer returns the answer of an entry, which must have exactly one.
func (l *loader) answer(c *checker, e *failureEntry) Sample {
	forms := 0
	var a Sample
	if e.Text != nil {
		forms++
		a = Sample{Result: textResult(*e.Text, !e.Reads), Unmarked: e.Reads}
	}
	if e.Result != nil {
		forms++
		a = Sample{Result: json.Value(*e.Result), Unmarked: e.Reads}
	}
	if e.HTTP != nil {
		forms++
		a = Sample{Status: e.HTTP.Status, Header: http.Header{}, Body: []byte(e.HTTP.Body)}
		for name, value := range e.HTTP.Headers {
			a.Header.Set(name, value)
		}
		if a.Status < http.StatusBadRequest || e.Reads {
			c.wrongf("has an HTTP status that is not a failure, or `reads`")
		}
	}
	if forms != 1 {
		c.wrongf("needs exactly one of `text`, `result` and `http`")
		return a
	}
	if a.Result != nil {
		c.result(a.Result)
		if c.marked == a.Unmarked {
			c.wrongf("is a failure by isError, or by `reads: true`, and not by both")
		}
	}
	l.once(c, fmt.Sprintf("%s %d %v %s", a.Result, a.Status, a.Header, a.Body))
	return a
}

// once reports an answer that is in the corpus already.
func (l *loader) once(c *checker, answer string) {
	if where, ok := l.places[answer]; ok {
		c.wrongf("is the same answer as %s", where)
		return
	}
	l.places[answer] = c.name
}

func textResult(text string, isError bool) json.Value {
	mark := ""
	if isError {
		mark = `,"isError":true`
	}
	return json.Value(`{"content":[{"type":"text","text":` + string(json.AppendQuote(nil, text)) + `}]` + mark + `}`)
}

// checker collects what is wrong with an entry.
type checker struct {
	doc    *strictyaml.Document
	at     strictyaml.Pos
	name   string
	marked bool // its result has isError
}

func (c *checker) wrongf(format string, args ...any) {
	c.doc.Reportf(c.at, "", "%s %s", c.name, fmt.Sprintf(format, args...))
}

var reName = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

func (c *checker) word(name string) {
	if !reName.MatchString(name) {
		c.wrongf("is no name: small letters, digits and hyphens")
	}
}

// result checks that a result is valid, and notes whether it has isError.
func (c *checker) result(result json.Value) {
	var head struct {
		Content []json.Value `json:"content"`
		IsError bool         `json:"isError"`
	}
	if err := json.Unmarshal(result, &head); err != nil || head.Content == nil {
		c.wrongf("has no CallToolResult: %v", err)
	}
	c.marked = head.IsError
}

// want returns what an entry expects.
func (c *checker) want(e *failureEntry) Want {
	w := Want{After: e.After, Message: e.Message}
	for _, word := range e.Kind {
		kind, ok := recourse.ParseKind(word)
		if !ok {
			c.wrongf("expects the kind %s, which there is not", word)
		}
		w.Kinds = append(w.Kinds, kind)
	}
	for _, word := range e.Retry {
		if !slices.Contains(contractform.Retries, word) {
			c.wrongf("expects the advice %s, which there is not", word)
		}
		w.Retries = append(w.Retries, recourse.Retry(word))
	}
	if e.Violations != nil {
		w.Violations = append([]string{}, *e.Violations...)
	}
	if e.Kind != nil && len(e.Kind) == 0 {
		c.wrongf("needs a kind")
	}
	return w
}
