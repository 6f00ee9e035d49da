package demo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A setting changes a reference system, so that rare failures can be seen.
type setting struct {
	name  string
	value string // what follows the equals sign, such as N; "": nothing
	about string
}

// String returns the setting as users write it.
func (s setting) String() string {
	if s.value == "" {
		return s.name
	}
	return s.name + "=" + s.value
}

// within is a setting of every system: how long its backend may take.
var within = setting{"timeout", "DURATION", "how long the backend may take, such as 500ms; 2s unless said otherwise"}

// Settings are the settings that users have chosen, by name.
type Settings map[string]string

// ParseSettings parses texts of the form NAME or NAME=VALUE for a reference system. The error lists the settings that
// it has.
func ParseSettings(system string, texts []string) (Settings, error) {
	r, err := find(system)
	if err != nil {
		return nil, err
	}
	settings := Settings{}
	for _, text := range texts {
		name, value, _ := strings.Cut(text, "=")
		i := slices.IndexFunc(r.settings, func(s setting) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%s has no setting %q: there are %s", system, name, strings.Join(r.settingNames(), ", "))
		}
		if s := r.settings[i]; (s.value == "") != (value == "") {
			return nil, fmt.Errorf("%q is not how the setting is written: write %s", text, s)
		} else if err := s.check(value); err != nil {
			return nil, err
		}
		settings[name] = value
	}
	return settings, nil
}

// check refuses a value of another type.
func (s setting) check(value string) error {
	switch s.value {
	case "N":
		if n, err := strconv.ParseInt(value, 10, 32); err != nil || n < 1 {
			return fmt.Errorf("%s=%s: write a number from 1", s.name, value)
		}
	case "TIME":
		if _, ok := shiftOf(value); !ok {
			return fmt.Errorf("%s=%s: write a time such as 2027-01-31T23:59:30Z, or a duration such as 2160h", s.name, value)
		}
	case "DURATION":
		if d, err := time.ParseDuration(value); err != nil || d <= 0 {
			return fmt.Errorf("%s=%s: write a duration such as 500ms", s.name, value)
		}
	}
	return nil
}

func (r *reference) settingNames() []string {
	names := make([]string, len(r.settings))
	for i, s := range r.settings {
		names[i] = s.String()
	}
	return names
}

// has reports whether a setting was chosen.
func (s Settings) has(name string) bool {
	_, ok := s[name]
	return ok
}

// number returns the value of a setting that is a number; 0 if it was not chosen.
func (s Settings) number(name string) int64 {
	n, _ := strconv.ParseInt(s[name], 10, 32) // it has been checked
	return n
}

// shift returns how far ahead of the real one the system's clock is.
func (s Settings) shift() time.Duration {
	shift, _ := shiftOf(s["now"]) // it has been checked
	return shift
}

// shiftOf returns how far ahead a time is, or a duration.
func shiftOf(text string) (shift time.Duration, ok bool) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return time.Until(at), true
	}
	shift, err := time.ParseDuration(text)
	return shift, err == nil
}

// timeout returns how long the backend may take.
func (s Settings) timeout() time.Duration {
	if d, err := time.ParseDuration(s[within.name]); err == nil {
		return d
	}
	return patient
}

// SettingsHelp lists the settings, for the help of the command.
func SettingsHelp() string {
	var b strings.Builder
	for _, r := range references {
		fmt.Fprintf(&b, "\n    %s\n", r.name)
		for _, s := range r.settings {
			fmt.Fprintf(&b, "      %s: %s\n", s, s.about)
		}
	}
	return b.String()
}
