package load

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Contract returns the built-in contract with that name, otherwise the contract in the file with
// that name.
func Contract(name string) (*contract.Contract, error) {
	set := contract.Builtin()
	if c, ok := set.Get(name); ok {
		return c, nil
	}
	src, err := os.ReadFile(filepath.Clean(name))
	loaded, err := AddContract(set, name, src, err)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `./\`) {
		return nil, term.Usage(term.Hint(
			fmt.Errorf("there is no contract %q", name),
			"the built-in ones are "+strings.Join(set.Names(), ", ")+"; for your own, give its file",
		))
	}
	if _, mistakes := errors.AsType[strictyaml.Errors](err); err != nil && !mistakes {
		return nil, term.Usage(err)
	}
	if err != nil {
		return nil, err
	}
	c, _ := set.Get(loaded)
	return c, nil
}

// AddContract adds to set a contract file that was read, with src and err as the result, and returns
// the contract's name.
func AddContract(set *contract.Set, path string, src []byte, err error) (string, error) {
	if err != nil {
		return "", fmt.Errorf("read the contract: %w", err)
	}
	c, err := set.Load(path, src)
	if err != nil {
		return "", err
	}
	return c.Name, nil
}

// FamilyNames returns the names of the built-in families.
func FamilyNames() []string {
	var names []string
	for _, f := range contract.Families() {
		names = append(names, f.Name)
	}
	return names
}

// AddFamily adds to set a family file that was read, with src and err as the result, and returns the
// family's name.
func AddFamily(set *contract.Set, path string, src []byte, err error) (string, error) {
	if err != nil {
		return "", fmt.Errorf("read the family: %w", err)
	}
	f, err := set.LoadFamily(path, src)
	if err != nil {
		return "", err
	}
	return f.Name, nil
}

// AddReads makes the reader understand what --reads names: contracts, families, and files with either.
func AddReads(reader *contract.Reader, names []string) error {
	set := contract.Builtin()
	for _, name := range names {
		if f, ok := set.Family(name); ok {
			reader.Families = append(reader.Families, f)
			continue
		}
		if src, err := os.ReadFile(filepath.Clean(name)); err == nil && contract.IsFamily(src) {
			f, err := set.LoadFamily(name, src)
			if err != nil {
				return err
			}
			reader.Families = append(reader.Families, f)
			continue
		}
		if reader.Weak != nil {
			return term.Usage(errors.New("--reads names more than one contract, but a server follows only one"))
		}
		kept, err := Contract(name)
		if err != nil {
			return err
		}
		reader.Weak, reader.Contracts = kept, append([]*contract.Contract{kept}, reader.Contracts...)
	}
	return nil
}
