package grant

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A Condition is an expression over the caller, the tool and the arguments of a call. It is safe for concurrent use.
type Condition struct {
	program  *vm.Program
	usesArgs bool
}

// vocabulary is what an expression can refer to.
type vocabulary struct {
	Caller   caller         `expr:"caller"`
	Tool     string         `expr:"tool"`
	Args     map[string]any `expr:"args"`
	ReadOnly bool           `expr:"read_only"`
}

type caller struct {
	Name   string   `expr:"name"`
	Entry  string   `expr:"entry"` // of access control, which has verified the caller
	Org    string   `expr:"org"`
	Roles  []string `expr:"roles"`
	Scopes []string `expr:"scopes"`
}

const (
	// maxNodes limits an expression, and maxArguments the bytes of arguments for which one is evaluated.
	maxNodes     = 200
	maxArguments = 64 << 10
	// memoryBudget limits the items that an evaluation creates.
	memoryBudget = 10_000
)

// functions are the functions of the language that take time in proportion to their input.
var functions = []string{
	"len", "all", "any", "none", "one", "count", "lower", "upper", "trim", "hasPrefix", "hasSuffix",
	"int", "float", "string", "type", "abs", "sum",
}

// Compile makes a condition from an expression, such as args.org == caller.org.
func Compile(text string) (*Condition, error) {
	options := []expr.Option{expr.Env(vocabulary{}), expr.AsBool(), expr.MaxNodes(maxNodes), expr.DisableAllBuiltins()}
	for _, name := range functions {
		options = append(options, expr.EnableBuiltin(name))
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, plain(err)
	}
	if err := bounded(tree.Node); err != nil {
		return nil, err
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, plain(err)
	}
	return &Condition{program: program, usesArgs: ast.Find(tree.Node, namesArguments) != nil}, nil
}

// plain returns an error of the language without its excerpt.
func plain(err error) error {
	if at, ok := errors.AsType[*file.Error](err); ok {
		return fmt.Errorf("%s, at character %d", at.Message, at.From+1)
	}
	return err
}

func namesArguments(n ast.Node) bool {
	name, ok := n.(*ast.IdentifierNode)
	return ok && (name.Value == "args" || name.Value == "$env")
}

// bounded refuses expressions that could take more time than in proportion to the arguments.
func bounded(root ast.Node) error {
	var err error
	ast.Find(root, func(n ast.Node) bool {
		if err == nil {
			err = boundedNode(n)
		}
		return err != nil
	})
	return err
}

func boundedNode(n ast.Node) error {
	isPredicate := func(n ast.Node) bool { _, ok := n.(*ast.PredicateNode); return ok }
	varies := func(n ast.Node) bool {
		name, isName := n.(*ast.IdentifierNode)
		_, isItem := n.(*ast.PointerNode)
		return isItem || isName && name.Value != "caller"
	}
	switch n := n.(type) {
	case *ast.VariableDeclaratorNode:
		return errors.New("`let` is not available")
	case *ast.BuiltinNode: // the language does not switch off those that take a predicate
		if !slices.Contains(functions, n.Name) {
			return fmt.Errorf("`%s` is not available", n.Name)
		}
	case *ast.PredicateNode:
		if ast.Find(n.Node, isPredicate) != nil {
			return errors.New("a function over a list cannot be within another one")
		}
	case *ast.BinaryNode:
		switch {
		case n.Operator == "..":
			return errors.New("`..` is not available")
		case n.Operator == "in" && isList(n.Right) && ast.Find(n.Right, varies) != nil,
			n.Operator == "matches" && !isText(n.Right):
			return fmt.Errorf("what stands on the right of `%s` must be constant, or the caller's", n.Operator)
		}
	}
	return nil
}

func isText(n ast.Node) bool { _, ok := n.(*ast.StringNode); return ok }

// isList reports whether a node may be a list: anything but the argument object itself, in which `in` looks
// up a name.
func isList(n ast.Node) bool { name, ok := n.(*ast.IdentifierNode); return !ok || name.Value != "args" }

// arguments are the arguments of a call, read when the first condition needs them.
type arguments struct {
	raw  json.Value
	read map[string]any
	err  error
}

var errTooLarge = fmt.Errorf("the arguments are larger than the %d bytes that conditions are checked for", maxArguments)

func (a *arguments) get() (map[string]any, error) {
	switch {
	case a.read != nil || a.err != nil:
	case len(a.raw) > maxArguments:
		a.err = errTooLarge
	case len(a.raw) == 0:
		a.read = map[string]any{}
	default:
		var v any
		if v, a.err = json.UnmarshalAny(a.raw); a.err != nil {
			break
		}
		if a.read, _ = numbers(v).(map[string]any); a.read == nil {
			a.err = errors.New("the arguments are not an object")
		}
	}
	return a.read, a.err
}

// numbers replaces numbers by those of the language, integers without going through float64.
func numbers(v any) any {
	switch v := v.(type) {
	case stdjson.Number:
		if n, err := v.Int64(); err == nil {
			return int(n)
		}
		if f, err := v.Float64(); err == nil && !math.IsInf(f, 0) {
			return f
		}
		return string(v) // equal to no number
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = numbers(v[name])
		}
	}
	return v
}

// holds reports whether the condition is met. If it cannot be evaluated, it is not met.
func (c *Condition) holds(who *authn.Identity, use *Use, args *arguments) (bool, error) {
	env := vocabulary{
		Caller: caller{Name: who.Name, Entry: who.Access, Org: who.Org, Roles: who.Roles, Scopes: who.Scopes},
		Tool:   use.Tool, ReadOnly: use.ReadOnly,
	}
	if c.usesArgs {
		if use.Listing {
			return true, nil
		}
		var err error
		if env.Args, err = args.get(); err != nil {
			return false, err
		}
	}
	machine := vm.VM{MemoryBudget: memoryBudget}
	result, err := machine.Run(c.program, env)
	if err != nil {
		return false, fmt.Errorf("condition: %w", plain(err))
	}
	holds, ok := result.(bool)
	return holds && ok, nil
}
