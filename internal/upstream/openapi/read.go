package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

const (
	// MaxSize limits a description, in bytes.
	MaxSize = 32 << 20
	// maxDepth limits the nesting of a description.
	maxDepth = 100
	// maxExpansion limits how much YAML may grow when its aliases are replaced, in bytes.
	maxExpansion = 8 << 20
)

var (
	errSize    = fmt.Errorf("the description is larger than %d MiB", MaxSize>>20)
	errDepth   = fmt.Errorf("the description has more than %d levels", maxDepth)
	errCharset = errors.New("the description is not in UTF-8: save it as UTF-8")
	errAliases = errors.New("the description grows too large when its YAML aliases are replaced")
)

// readText converts a description, which is JSON or YAML, to JSON.
func readText(text []byte) (json.Value, error) {
	if len(text) > MaxSize {
		return nil, errSize
	}
	if !utf8.Valid(text) && !bytes.HasPrefix(text, []byte("\xff\xfe")) && !bytes.HasPrefix(text, []byte("\xfe\xff")) { // UTF-16 can be read
		return nil, errCharset
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if first := bytes.TrimLeft(text, " \t\r\n"); len(first) > 0 && first[0] == '{' {
		return text, checkDepth(text)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("the description is neither JSON nor YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return nil, errNotDescription
	}
	w := yamlWriter{most: len(text) + len(text)/2 + maxExpansion}
	if err := w.value(root.Content[0], 0); err != nil {
		return nil, err
	}
	return w.out, nil
}

// checkDepth reads JSON to its end, and reports errors in it.
func checkDepth(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		_, err := dec.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the description is not valid JSON: %w", err)
		case dec.StackDepth() > maxDepth:
			return errDepth
		}
	}
}

// A yamlWriter writes YAML as JSON.
type yamlWriter struct {
	out  []byte
	most int // bytes
}

func (w *yamlWriter) value(n *yaml.Node, depth int) error {
	switch {
	case depth > maxDepth:
		return errDepth
	case len(w.out) > w.most:
		return errAliases
	}
	switch n.Kind {
	case yaml.AliasNode: // an anchor that contains its own alias is infinitely deep
		return w.value(n.Alias, depth+1)
	case yaml.MappingNode:
		w.out = append(w.out, '{')
		if err := w.members(n, depth, map[string]bool{}); err != nil {
			return err
		}
		w.out = append(w.out, '}')
		return nil
	case yaml.SequenceNode:
		w.out = append(w.out, '[')
		for i, item := range n.Content {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			if err := w.value(item, depth+1); err != nil {
				return err
			}
		}
		w.out = append(w.out, ']')
		return nil
	default:
		w.scalar(n)
		return nil
	}
}

// members writes the members of a mapping, and then those merged from others.
func (w *yamlWriter) members(n *yaml.Node, depth int, seen map[string]bool) error {
	if depth > maxDepth {
		return errDepth
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d of the description: a key must be a word", key.Line)
		}
		if key.Tag == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if seen[key.Value] {
			continue // in a merged mapping; the parser refuses it elsewhere
		}
		seen[key.Value] = true
		if w.out[len(w.out)-1] != '{' {
			w.out = append(w.out, ',')
		}
		w.out = append(json.AppendQuote(w.out, key.Value), ':')
		if err := w.value(value, depth+1); err != nil {
			return err
		}
	}
	return w.merge(merged, depth, seen)
}

// merge writes the members of the mappings that are merged into another.
func (w *yamlWriter) merge(merged []*yaml.Node, depth int, seen map[string]bool) error {
	for _, from := range merged {
		if from.Kind == yaml.AliasNode {
			from = from.Alias
		}
		sources := []*yaml.Node{from}
		if from.Kind == yaml.SequenceNode {
			sources = from.Content
		}
		for _, source := range sources {
			if source.Kind == yaml.AliasNode {
				source = source.Alias
			}
			if source.Kind != yaml.MappingNode {
				return fmt.Errorf("line %d of the description: `<<` takes a mapping", from.Line)
			}
			if err := w.members(source, depth+1, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *yamlWriter) scalar(n *yaml.Node) {
	switch n.ShortTag() {
	case "!!null":
		w.out = append(w.out, "null"...)
		return
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			w.out = strconv.AppendBool(w.out, b)
			return
		}
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			w.out = append(w.out, n.Value...)
			return
		}
		var i int64
		if n.Decode(&i) == nil {
			w.out = strconv.AppendInt(w.out, i, 10)
			return
		}
		var f float64
		if n.Decode(&f) == nil && f-f == 0 { // neither infinite nor NaN
			w.out = strconv.AppendFloat(w.out, f, 'g', -1, 64)
			return
		}
	}
	w.out = json.AppendQuote(w.out, n.Value)
}
