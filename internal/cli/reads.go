package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/recoursehq/recourse/contract"
)

// familyNames returns the names of the built-in families.
func familyNames() []string {
	var names []string
	for _, f := range contract.Families() {
		names = append(names, f.Name)
	}
	return names
}

// addFamily adds to set a family file that was read, with src and err as the result, and returns the
// family's name.
func addFamily(set *contract.Set, path string, src []byte, err error) (string, error) {
	if err != nil {
		return "", fmt.Errorf("read the family: %w", err)
	}
	f, err := set.LoadFamily(path, src)
	if err != nil {
		return "", err
	}
	return f.Name, nil
}

// addReads makes the reader understand what --reads names: contracts, families, and files with either.
func addReads(reader *contract.Reader, names []string) error {
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
			return &usageError{errors.New("--reads names more than one contract, but a server follows only one")}
		}
		kept, err := findContract(name)
		if err != nil {
			return err
		}
		reader.Weak, reader.Contracts = kept, append([]*contract.Contract{kept}, reader.Contracts...)
	}
	return nil
}
