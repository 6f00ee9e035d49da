package contract

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// whole reads an answer that is a failure by a sure sign, and whose record was cut to
// fit beside it: what was cut there stands whole in the contract's own places. Where
// these cannot be read, the record is all there is.
func (r *Reader) whole(record *recourse.Error, a answer) Reading {
	if reading, ok := r.inForm(a); ok {
		return r.merged(record, reading)
	}
	reading := r.record(record)
	reading.Contract = nil // its text says more than is known here
	return reading
}

// merged returns a record that was cut, completed by the same failure as it was read
// from another place. What is never cut is the record's word.
func (r *Reader) merged(record *recourse.Error, from Reading) Reading {
	reading := r.record(record)
	said := from.Error()
	if said == nil {
		return reading
	}
	if from.Contract != nil {
		reading.Contract = from.Contract
	}
	reading.Sign = "record, and " + from.Sign
	reading.Failure = reading.Error().With(func(e *recourse.Error) { complement(e, said) })
	return reading
}

// marked says in a failure that what it was read from breaks off.
func (r *Reader) marked(reading Reading) Reading {
	if e := reading.Error(); e != nil && r.Cut != "" {
		reading.Failure = leftOut(e, "The answer is cut here: it is longer than "+r.Cut+".")
	}
	return reading
}

// leftOut returns a record that says what is missing in it.
func leftOut(e *recourse.Error, sentences ...string) *recourse.Error {
	return e.WithMessage("%s (%s)", e.Sentence(), strings.Join(sentences, " ")).WithTruncated()
}

// completed returns an object as it can be read where it breaks off.
func (r *Reader) completed(object json.Value) json.Value {
	d := draft{cut: r.Cut != ""}
	return d.completed(object)
}

func (d *draft) completed(object json.Value) json.Value {
	if d.cut && !json.Valid(object) {
		if whole := json.Complete(object); whole != nil {
			return whole
		}
	}
	return object
}

// complement puts into e, which was cut, what said has in its place: texts and lists
// that are there, and lists that are no shorter.
func complement(e, said *recourse.Error) {
	prefer(&e.Code, said.Code)
	prefer(&e.Contract, said.Contract)
	prefer(&e.Message, said.Message)
	prefer(&e.Provider, said.Provider)
	prefer(&e.Resource.Type, said.Resource.Type)
	prefer(&e.Resource.ID, said.Resource.ID)
	prefer(&e.RequestID, said.RequestID)
	prefer(&e.Upstream.Code, said.Upstream.Code)
	prefer(&e.Upstream.RequestID, said.Upstream.RequestID)
	e.Hints = longer(e.Hints, said.Hints)
	e.MissingScopes = longer(e.MissingScopes, said.MissingScopes)
	e.Quotas = longer(e.Quotas, said.Quotas)
	e.Missing = longer(e.Missing, said.Missing)
	e.Succeeded = longer(e.Succeeded, said.Succeeded)
	e.Violations = eachOf(e.Violations, said.Violations, func(v, said recourse.Violation) recourse.Violation {
		prefer(&v.Pointer, said.Pointer)
		prefer(&v.Param, said.Param)
		prefer(&v.Rule, said.Rule)
		prefer(&v.Want, said.Want)
		prefer(&v.Message, said.Message)
		if said.Got != nil {
			v.Got = said.Got
		}
		return v
	})
	e.Failed = eachOf(e.Failed, said.Failed, func(f, said recourse.Failed) recourse.Failed {
		prefer(&f.ID, said.ID)
		if f.Error == nil || said.Error == nil {
			return recourse.Failed{ID: f.ID, Error: said.Error}
		}
		f.Error = f.Error.With(func(item *recourse.Error) { complement(item, said.Error) })
		return f
	})
	if e.Verify == nil {
		e.Verify = said.Verify
	}
	if len(said.Details) > 0 {
		e.Details = said.Details
	}
	if len(e.Extra()) == 0 && len(said.Extra()) > 0 {
		*e = *e.WithExtra(said.Extra())
	}
}

func prefer(text *string, said string) {
	if said != "" {
		*text = said
	}
}

// longer returns said, unless list has more to say.
func longer[T any](list, said []T) []T {
	if len(said) >= len(list) {
		return said
	}
	return list
}

// eachOf returns said with each item completed by the one of list that stands in its
// place; list, where that is longer.
func eachOf[T any](list, said []T, both func(item, said T) T) []T {
	if len(said) < len(list) {
		return list
	}
	merged := slices.Clone(said)
	for i := range list {
		merged[i] = both(list[i], said[i])
	}
	return merged
}
