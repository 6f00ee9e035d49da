// Package load reads what the user of a command names: contracts and families, configurations, the files of desktop hosts, and the
// store of a gateway.
package load

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/config/hosts"
)

// Loaded is a configuration that was read, with its files.
type Loaded struct {
	Config    *config.Config
	Contracts *contract.Set // the built-in ones, and those of the configuration
	Files     Fingerprints
	Lists     string            // the file that keeps what servers have last said; "": none
	Left      map[string]string // servers that only their host can start, each with what only the host knows
}

func newReading() *Loaded { return &Loaded{Contracts: contract.Builtin(), Files: Fingerprints{}} }

// Fingerprints are the hashes of files, and of lists of files; a file that cannot be read has a zero hash.
type Fingerprints map[watchedFile][sha256.Size]byte

// A watchedFile is a file or, with an entry of include, the files in a folder that it stands for.
type watchedFile struct{ path, include string }

// Current returns the fingerprints of the same files now.
func (f Fingerprints) Current() Fingerprints {
	now := make(Fingerprints, len(f))
	for of := range f { // a missing file has another hash, too
		if of.include != "" {
			_, _ = now.list(of.path, of.include)
		} else {
			_, _ = now.read(of.path)
		}
	}
	return now
}

func (f Fingerprints) read(path string) ([]byte, error) {
	of := watchedFile{path: path}
	f[of] = [sha256.Size]byte{}
	src, err := os.ReadFile(filepath.Clean(path))
	if err == nil {
		f[of] = sha256.Sum256(src)
	}
	return src, err
}

func (f Fingerprints) list(dir, entry string) ([]string, error) {
	files, err := config.ListFiles(dir, entry)
	f[watchedFile{dir, entry}] = sha256.Sum256([]byte(strings.Join(files, "\x00")))
	return files, err
}

// Config reads a configuration file, and the contract files in it. Even with an error, the reading says
// which files those are.
func Config(path string, lookupEnv func(name string) (string, bool)) (*Loaded, error) {
	r := newReading()
	src, err := r.Files.read(path)
	if err != nil {
		return r, fmt.Errorf("read the configuration: %w", err)
	}
	r.Config, err = config.Parse(path, src, r.options(lookupEnv))
	if err == nil {
		r.Lists = keepLists(r.Config, path)
	}
	return r, err
}

// Show returns what holds with a configuration file, as [config.Show] does.
func Show(path string, lookupEnv func(name string) (string, bool)) (string, error) {
	src, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	return config.Show(path, src, newReading().options(lookupEnv))
}

// options are those with which the reading takes note of the files.
func (r *Loaded) options(lookupEnv func(name string) (string, bool)) config.Options {
	return config.Options{
		LookupEnv:      lookupEnv,
		KnownContracts: r.Contracts.Names(),
		KnownFamilies:  FamilyNames(),
		LoadContract: func(path string) (string, error) {
			src, err := r.Files.read(path)
			return AddContract(r.Contracts, path, src, err)
		},
		LoadFamily: func(path string) (string, error) {
			src, err := r.Files.read(path)
			return AddFamily(r.Contracts, path, src, err)
		},
		ReadFile:  r.Files.read,
		ListFiles: r.Files.list,
	}
}

// HostsConfig reads a hosts file as a configuration of the servers in it. Even with an error, the reading says
// which file that is.
func HostsConfig(path string, lookupEnv func(name string) (string, bool)) (*Loaded, error) {
	r := newReading()
	src, err := r.Files.read(path)
	if err != nil {
		return r, fmt.Errorf("read the hosts file: %w", err)
	}
	file, err := hosts.Parse(path, src)
	if err != nil {
		return r, err
	}
	if err := OnlyStarted(path, file); err != nil {
		return r, err
	}
	if r.Left, err = leftToHost(path, file); err != nil {
		return r, err
	}
	servers, err := Servers(file, lookupEnv)
	if err != nil {
		return r, err
	}
	r.Config, err = config.Of(servers...)
	return r, err
}

// keepLists gives each endpoint without a configured file for its lists one in the user's cache folder,
// if that exists. The file's name depends on the path of the configuration file. It returns one there for what servers by themselves
// have last said, if there is a store.
func keepLists(cfg *config.Config, path string) (single string) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	sum := sha256.Sum256([]byte(path))
	file := func(of string) string {
		return filepath.Join(folder, "recourse", of+"-"+hex.EncodeToString(sum[:6])+".json")
	}
	for _, e := range cfg.Endpoints {
		if e.Lists == "" {
			e.Lists = file("lists-" + e.Name)
		}
	}
	if cfg.Store == "" {
		return ""
	}
	return file("servers")
}

// ConfigError returns the error about a configuration file, with advice if the file could not be read.
func ConfigError(err error) error {
	if _, readFailed := errors.AsType[*fs.PathError](err); !readFailed {
		return err
	}
	hint := "give a file; docs/configuration.md describes it"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint = "`recourse init` writes a first one; docs/configuration.md describes the file"
	case errors.Is(err, fs.ErrPermission):
		hint = "let this user read the file"
	}
	return term.Usage(term.Hint(err, hint))
}
