package hosts

import (
	"maps"
	"regexp"
	"slices"

	"github.com/recoursehq/recourse/internal/strictyaml"
)

// variable is a reference in the forms that hosts have for them: ${NAME} and
// ${NAME:-default}, and in VS Code ${env:NAME}.
var variable = regexp.MustCompile(`\$\{(?:env:)?([^}:]*)(:-[^}]*|:[^}]*)?\}`)

// Expand replaces the references to environment variables in every server by what
// lookup finds ([os.LookupEnv] has this form), as hosts do. The error is
// [strictyaml.Errors]: a variable that is not set and has no default, or a reference
// that only the host can resolve.
func (f *File) Expand(lookup func(name string) (value string, ok bool)) error {
	var mistakes strictyaml.Errors
	for _, s := range f.Servers {
		expand := func(text string) string {
			return variable.ReplaceAllStringFunc(text, func(ref string) string {
				parts := variable.FindStringSubmatch(ref)
				name, rest := parts[1], parts[2]
				set, ok := lookup(name)
				switch {
				case len(rest) > 1 && rest[1] == '-':
					if set != "" {
						return set
					}
					return rest[len(":-"):]
				case rest != "":
					mistakes = append(mistakes, f.mistakef(s.at, "start the server from the host, or write the value into the file",
						"only the host knows what `%s` of the server %q stands for", ref, s.Name))
				case !ok:
					mistakes = append(mistakes, f.mistakef(s.at, "set it before the program is started",
						"the environment variable `%s` of the server %q is not set", name, s.Name))
				}
				return set
			})
		}
		s.Command, s.Cwd, s.URL = expand(s.Command), expand(s.Cwd), expand(s.URL)
		for i := range s.Args {
			s.Args[i] = expand(s.Args[i])
		}
		for _, texts := range []map[string]string{s.Env, s.Headers} {
			for _, name := range slices.Sorted(maps.Keys(texts)) {
				texts[name] = expand(texts[name])
			}
		}
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	return nil
}
