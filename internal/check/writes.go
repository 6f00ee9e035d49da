package check

import (
	"fmt"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A Write is a call that may be made in a sandbox, in mode Owner to see whether it happens once, in mode Wired to see what becomes
// of its provider's failures. In its arguments, {mark} stands for a text that
// is new each time, by which the answer of the verify call shows what has happened.
type Write struct {
	Tool   string
	Args   json.Value
	Other  json.Value // arguments that differ in what is no key; nil: they are not tried
	Verify VerifyCall // of a read, none
	Reads  bool       // it only reads: the mode Wired makes it, and the mode Owner does not
	Slow   bool       // it takes a second or more: the mode Owner sees what happens beside it, and cancels it
}

// What says what a mode does with the call.
func (w *Write) What(mode Mode) string {
	var what []string
	switch {
	case w.Slow:
		what = append(what, "made beside a quick request, made again and cancelled")
	case w.Verify.Tool != "":
		shown := w.Verify.Tool + " " + string(w.Verify.Args)
		what = append(what, "made, again after its answer was lost, and twice at once, each followed by "+shown)
		if w.Other != nil {
			what = append(what, "with the arguments "+string(w.Other)+" after that")
		}
	}
	if mode.includes(Wired) && !w.Slow {
		what = append(what, "made once for each way in which its provider can fail")
	}
	if len(what) == 0 {
		return "not made in this mode"
	}
	return strings.Join(what, "; ")
}

// VerifyCall is the call that shows what writes have done.
type VerifyCall struct {
	Tool string
	Args json.Value
}

// mark stands for the text by which an effect is recognised.
const mark = "{mark}"

// ReadWrites reads a file of writes. The error lists every mistake.
func ReadWrites(name string, src []byte) ([]Write, error) {
	var file struct {
		Calls []struct {
			Node   *strictyaml.Node `yaml:",pos"`
			Reads  bool             `yaml:"reads"`
			Slow   bool             `yaml:"slow"`
			Tool   string           `yaml:"tool,required"`
			Args   map[string]any   `yaml:"args,required"`
			Other  map[string]any   `yaml:"other"`
			Verify struct {
				Tool string         `yaml:"tool"`
				Args map[string]any `yaml:"args"`
			} `yaml:"verify"`
		} `yaml:"calls,required"`
	}
	if err := strictyaml.Decode(name, src, &file); err != nil {
		return nil, err
	}
	var writes []Write
	for _, w := range file.Calls {
		verify := VerifyCall{w.Verify.Tool, object(w.Verify.Args)}
		write := Write{Tool: w.Tool, Args: object(w.Args), Reads: w.Reads, Slow: w.Slow, Verify: verify}
		if w.Other != nil {
			write.Other = object(w.Other)
		}
		means := 0
		for _, has := range []bool{w.Reads, w.Slow, w.Verify.Tool != ""} {
			if has {
				means++
			}
		}
		switch {
		case means != 1:
			return nil, strictyaml.Errors{w.Node.Errorf(
				"a write has `verify: {tool: NAME, args: {...}}`, which shows what it has done; a read has `reads: true`; "+
					"a call that takes a second or more has `slow: true`",
				"%s needs one of verify, reads and slow", w.Tool,
			)}
		case w.Verify.Tool != "" && !strings.Contains(string(write.Args), mark):
			return nil, strictyaml.Errors{w.Node.Get("args").Errorf(
				"put it into a text that the verify call shows, such as `reference: check-{mark}`",
				"the arguments of %s lack {mark}: nothing would show what the call has done", w.Tool,
			)}
		}
		writes = append(writes, write)
	}
	return writes, nil
}

// object returns values of a file as a JSON object.
func object(values map[string]any) json.Value {
	plain := make(map[string]any, len(values))
	for name, value := range values {
		plain[name] = strictyaml.Plain(value)
	}
	raw, err := json.Marshal(plain)
	if err != nil {
		return json.Value("{}") // YAML's values have a JSON form, but for numbers that are none
	}
	return raw
}

// marked returns arguments with a mark in them.
func marked(arguments json.Value, with string) json.Value {
	return json.Value(strings.ReplaceAll(string(arguments), mark, with))
}

// markOf returns the nth mark of a run. Runs of different seeds have different marks.
func markOf(seed, n int) string { return fmt.Sprintf("check%dx%d", seed, n) }
