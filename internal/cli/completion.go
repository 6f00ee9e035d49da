package cli

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/demo"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config/hosts"
)

// completionCommand prints a shell's completion script.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help shows how to install it.
func (*completionCommand) Help() string {
	return `In ~/.bashrc, or ~/.zshrc after compinit:

    source <(recourse completion bash)
    source <(recourse completion zsh)

For fish, once:

    recourse completion fish > ~/.config/fish/completions/recourse.fish

Example:

    recourse completion bash`
}

// Run prints the script.
func (c *completionCommand) Run(env *term.Environment) error {
	term.Printf(env.Stdout, "%s", completionScripts[c.Shell])
	return nil
}

// completionScripts ask the program itself for candidates, so they fit every version of it. If it has
// none, the shell completes files.
var completionScripts = map[string]string{
	"bash": `# bash completion for recourse
_recourse() {
    local IFS=$'\n'
    COMPREPLY=($(recourse complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _recourse recourse
`,
	"zsh": `#compdef recourse
_recourse() {
    local -a found
    local line
    for line in "${(@f)$(recourse complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n "$line" ]] && found+=("${${line//:/\\:}/$'\t'/:}")
    done
    if (( ${#found} )); then
        _describe recourse found
    else
        _files
    fi
}
if [[ "$funcstack[1]" = _recourse ]]; then
    _recourse "$@"
else
    compdef _recourse recourse
fi
`,
	"fish": `# fish completion for recourse
function __recourse_complete
    set -l words (commandline -opc) (commandline -ct)
    recourse complete -- $words[2..-1] 2>/dev/null
end
complete -c recourse -n 'test -n "$(__recourse_complete)"' -f -a '(__recourse_complete)'
`,
}

// completeCommand lists the candidates for a command line. Shells run it.
type completeCommand struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

// Run prints one line per candidate: the word, a tab, and its meaning.
func (c *completeCommand) Run(env *term.Environment, line *kong.Context) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, found := range complete(line.Model, words) {
		term.Printf(env.Stdout, "%s\t%s\n", found.word, found.help)
	}
	return nil
}

// A candidate is a word that can come next.
type candidate struct{ word, help string }

// complete returns the candidates for the last of the words.
func complete(program *kong.Application, words []string) []candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	if slices.Contains(before, "--") {
		return nil // a server's command
	}
	node, waiting, given := program.Node, (*kong.Flag)(nil), 0
	for _, word := range before {
		child := childOf(node, word)
		switch {
		case waiting != nil && word == "=": // bash splits --flag=value there
		case waiting != nil:
			waiting = nil
		case strings.HasPrefix(word, "-"):
			waiting = valuedFlag(node, word)
		case child != nil:
			node, given = child, 0
		default:
			given++
		}
	}
	name, _, isPair := strings.Cut(last, "=")
	var all []candidate
	switch {
	case waiting != nil:
		last = strings.TrimPrefix(last, "=")
		all = valuesOf(waiting.Value)
	case isPair:
		if flag := valuedFlag(node, name); flag != nil {
			all = valuesOf(flag.Value)
		}
		for i := range all {
			all[i].word = name + "=" + all[i].word
		}
	case strings.HasPrefix(last, "-"):
		for _, flags := range node.AllFlags(true) {
			for _, flag := range flags {
				all = append(all, candidate{"--" + flag.Name, flag.Help})
			}
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden && child.Type == kong.CommandNode {
				all = append(all, candidate{child.Name, child.Help})
			}
		}
		if len(node.Positional) > 0 {
			all = append(all, valuesOf(node.Positional[min(given, len(node.Positional)-1)])...)
		}
	}
	all = slices.DeleteFunc(all, func(c candidate) bool { return !strings.HasPrefix(c.word, last) })
	slices.SortFunc(all, func(a, b candidate) int { return strings.Compare(a.word, b.word) })
	return all
}

func childOf(node *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(node.Children, func(child *kong.Node) bool { return child.Name == name })
	if i < 0 {
		return nil
	}
	return node.Children[i]
}

// valuedFlag returns the flag that word is, if its value is the next word.
func valuedFlag(node *kong.Node, word string) *kong.Flag {
	for _, flags := range node.AllFlags(false) {
		for _, flag := range flags {
			named := word == "--"+flag.Name || flag.Short != 0 && word == "-"+string(flag.Short)
			if named && !flag.IsBool() {
				return flag
			}
		}
	}
	return nil
}

// valuesOf returns the known values of a flag or an argument.
func valuesOf(v *kong.Value) []candidate {
	var words []string
	switch name := strings.ToLower(v.Name); {
	case v.Enum != "":
		words = v.EnumSlice()
	case name == "reads":
		words = append(contract.Builtin().Names(), load.FamilyNames()...)
	case slices.Contains([]string{"contract", "first", "second"}, name):
		words = contract.Builtin().Names()
	case name == "host":
		words = hosts.Names()
	case name == "name" && strings.Contains(v.Help, "reference system"):
		words = append(demo.Systems(), demo.All)
	}
	var found []candidate
	for _, word := range words {
		if word != "" {
			found = append(found, candidate{word: word})
		}
	}
	return found
}
