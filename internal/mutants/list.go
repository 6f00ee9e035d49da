package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/recoursehq/recourse/internal/strictyaml"
)

// A mutation is one change of one file.
type mutation struct {
	Name   string   `yaml:"name,required"`
	File   string   `yaml:"file,required"` // relative to the module's root, with slashes
	Find   string   `yaml:"find,required"` // occurs once in the file
	Put    string   `yaml:"put,required"`  // replaces it
	Test   []string `yaml:"test,required"` // packages whose tests should notice, such as ./contract
	Run    string   `yaml:"run"`           // go test's -run; "": every test
	Must   bool     `yaml:"must"`          // it must be noticed
	Sample bool     `yaml:"sample"`        // it is one of the few that -sample makes
}

// read reads the list, and reports all mistakes in it.
func read(root, file string) ([]mutation, error) {
	src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return nil, err
	}
	doc, err := strictyaml.Parse(file, src)
	if err != nil {
		return nil, err
	}
	var form struct {
		Mutations []mutation `yaml:"mutations,required"`
	}
	doc.Decode(&form)
	if err := doc.Err(); err != nil {
		return nil, err
	}
	var mistakes []error
	names := map[string]bool{}
	for _, m := range form.Mutations {
		if names[m.Name] {
			mistakes = append(mistakes, fmt.Errorf("%s: the name is taken", m.Name))
		}
		names[m.Name] = true
		if _, err := m.apply(root); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", m.Name, err))
		}
		if _, err := regexp.Compile(m.Run); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", m.Name, err))
		}
		for _, p := range m.Test {
			if tests, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(p), "*_test.go")); err != nil || len(tests) == 0 {
				mistakes = append(mistakes, fmt.Errorf("%s: %s has no tests", m.Name, p))
			}
		}
	}
	return form.Mutations, errors.Join(mistakes...)
}

// apply returns the changed file.
func (m *mutation) apply(root string) ([]byte, error) {
	src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.File)))
	if err != nil {
		return nil, err
	}
	switch n := strings.Count(string(src), m.Find); {
	case m.Find == m.Put:
		return nil, errors.New("it changes nothing")
	case n != 1:
		return nil, fmt.Errorf("%q stands %d times in %s, not once", m.Find, n, m.File)
	}
	return []byte(strings.Replace(string(src), m.Find, m.Put, 1)), nil
}
