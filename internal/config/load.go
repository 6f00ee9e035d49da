package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Options control how a configuration is read.
type Options struct {
	// LookupEnv resolves the variables in ${NAME}. Default: [os.LookupEnv].
	LookupEnv func(name string) (value string, ok bool)

	// KnownContracts are the names allowed in contract and reads, in addition to those of the contract files.
	KnownContracts []string

	// KnownFamilies are additional names of families allowed in reads.
	KnownFamilies []string

	// LoadFamily reads a family file and returns the family's name, with errors as for LoadContract. Default:
	// family files are a mistake.
	LoadFamily func(path string) (name string, err error)

	// LoadContract reads a contract file and returns the contract's name. An error that is
	// [strictyaml.Errors] is reported with its own positions, any other at the file's entry in contracts.
	// Default: contract files are a mistake.
	LoadContract func(path string) (name string, err error)

	// ReadFile reads the other files that the configuration names, such as certificates.
	// Default: [os.ReadFile].
	ReadFile func(path string) ([]byte, error)

	// ListFiles lists what an entry of include stands for. Default: [ListFiles].
	ListFiles func(dir, entry string) ([]string, error)

	// Fetch reads the OpenAPI descriptions that are at a URL. Default: [openapi.Fetch].
	Fetch func(url string) ([]byte, error)
}

// Parse reads a configuration. name is the name of its file: mistakes are reported with it, and contract files are looked up in
// its directory. The error is [strictyaml.Errors] with every mistake in the file and in the contract files that it names.
func Parse(name string, src []byte, opts Options) (*Config, error) {
	c, _, err := parse(name, src, opts)
	return c, err
}

// parse returns the files that a configuration was read from, too.
func parse(name string, src []byte, opts Options) (*Config, *strictyaml.Document, error) {
	doc, err := strictyaml.Parse(name, src)
	if err != nil {
		return nil, nil, err
	}
	if opts.LookupEnv == nil {
		opts.LookupEnv = os.LookupEnv
	}
	if doc.Root().Get("mcpServers") != nil { // its lines may hold secrets, and are not shown
		return nil, nil, strictyaml.Errors{{
			File: name, Message: "this is the file of a desktop host, not a configuration",
			Hint: "serve it with `--hosts-file FILE` in place of `-c FILE`",
		}}
	}
	if opts.ReadFile == nil {
		opts.ReadFile = func(path string) ([]byte, error) { return os.ReadFile(filepath.Clean(path)) }
	}
	doc.Expand(opts.LookupEnv)
	include(doc, name, opts)
	doc.Expand(opts.LookupEnv) // of the included files
	var c Config
	doc.Decode(&c)

	v := &validator{
		doc: doc, contracts: slices.Clone(opts.KnownContracts), families: opts.KnownFamilies,
		dir: filepath.Dir(name), loadFamily: opts.LoadFamily, loaded: map[string]string{}, readFile: opts.ReadFile, fetch: opts.Fetch,
	}
	v.loadContracts(&c, opts.LoadContract)
	v.config(&c)
	if err := join(doc.Err(), v.foreign); err != nil {
		return nil, nil, err
	}
	for _, s := range c.Servers {
		if p, ok := c.Provider(s.Connection); ok {
			s.AccountHeader = p.Header
		}
		if s.Pin == nil {
			s.Pin = new(c.Pin)
		}
		s.complete()
	}
	for _, e := range c.Endpoints {
		e.complete(c.Servers)
		if e.Lists != "" && e.Lists != ListsNone && !filepath.IsAbs(e.Lists) {
			e.Lists = filepath.Join(v.dir, e.Lists)
		}
	}
	return &c, doc, nil
}

// join appends the mistakes in other files to those in this one.
func join(err error, foreign strictyaml.Errors) error {
	var all strictyaml.Errors
	errors.As(err, &all)
	if all = append(all, foreign...); len(all) == 0 {
		return nil
	}
	return all
}

// complete sets what follows from the rest.
func (s *Server) complete() {
	if s.Title == "" && s.API != nil {
		s.Title = s.API.Title
	}
	if s.Title == "" {
		s.Title = s.Name
	}
	if s.Redact == "" {
		s.Redact = RedactAll
		if len(s.Command) > 0 {
			s.Redact = RedactSecrets
		}
	}
	if s.TrustAnnotations == nil {
		trust := len(s.Command) > 0 || s.API != nil // whose annotations are ours
		s.TrustAnnotations = &trust
	}
	for _, rule := range s.Tools {
		rule.Value.Verify.complete()
	}
	s.findProfile()
	s.compileTools()
	s.completeAPI()
}

// complete turns values as the file has them into those of JSON.
func (v *Verify) complete() {
	if v == nil {
		return
	}
	for param, value := range v.With {
		v.With[param] = strictyaml.Plain(value)
	}
	if landed := v.Landed; landed != nil {
		landed.Equals, landed.Contains = strictyaml.Plain(landed.Equals), strictyaml.Plain(landed.Contains)
	}
}

// Same reports whether both entries say the same, wherever they are in their files.
func (s *Server) Same(other *Server) bool {
	a, b := *s, *other
	a.Tools, b.Tools = nil, nil // their positions differ; their content has been compiled
	a.API, b.API = nil, nil
	return s.sameAPI(other) && reflect.DeepEqual(a, b)
}

// SameReach reports whether other reaches the server in the same way. It compares everything in an entry,
// including future keys, except for the settings of how calls and answers are treated.
func (s *Server) SameReach(other *Server) bool {
	return s.sameAPI(other) && reflect.DeepEqual(s.reach(), other.reach())
}

func (s *Server) reach() Server {
	r := *s
	r.Path, r.Contract, r.Reads, r.Mode, r.Redact = "", "", nil, "", ""
	r.Timeout, r.MaxTimeout = 0, 0
	r.TrustAnnotations, r.Trusted, r.Pin = nil, false, nil
	r.Breaker, r.Concurrency, r.Hedge = nil, nil, nil
	r.Access, r.Users, r.Grants = nil, nil, nil
	r.Profile, r.Known = "", nil
	r.Tools, r.exact, r.patterns, r.API = nil, nil, nil, nil
	r.Limits, r.LimitHeaders = nil, false
	return r
}
