package wire

import (
	"bytes"
	"slices"
)

// Edited returns the signs, in memory of their own, of the text in which they were found after some edits, of which
// one may replace the id. They are in the order of their places, and do not overlap.
func (s *Signs) Edited(edits ...Edit) Signs {
	own := *s
	own.Method, own.ResultType, own.Kind = bytes.Clone(s.Method), cloneType(s.ResultType), bytes.Clone(s.Kind)
	own.ID = nil
	for _, e := range slices.Backward(edits) { // so that places before it stay as they were
		if e.At == s.IDAt {
			own.ID = e.With
		}
		own.shift(e.At, len(e.With)-(e.At.End-e.At.Start))
	}
	if own.ID == nil {
		own.ID = s.ID.Clone()
	}
	return own
}

// shift moves what stands after a place whose length changes, or around it.
func (s *Signs) shift(at Span, by int) {
	for _, span := range []*Span{
		&s.IDAt, &s.MethodAt, &s.Result, &s.Error, &s.Content, &s.Structured, &s.Meta, &s.ResultError,
	} {
		if span.End < at.End || span.IsZero() {
			continue
		}
		if span.End += by; span.Start >= at.End {
			span.Start += by
		}
	}
}

// cloneType clones the type of a result, which nearly always is the same.
func cloneType(kind []byte) []byte {
	if bytes.Equal(kind, complete) {
		return complete
	}
	return bytes.Clone(kind)
}

var complete = []byte("complete") // never changed
