// Package tracecontext says where a request is in a distributed trace, in the form of W3C Trace Context
// (https://www.w3.org/TR/trace-context/).
package tracecontext

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

// A TraceID identifies a trace.
type TraceID [16]byte

// A SpanID identifies a span of a trace.
type SpanID [8]byte

// String returns the hexadecimal form.
func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// String returns the hexadecimal form.
func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// A Context is a span of a trace. The zero Context is not a span.
type Context struct {
	Trace   TraceID
	Span    SpanID
	Sampled bool
}

// New begins a trace. It samples that part of all traces, by a rule that others can apply to the id, too.
func New(part float64) Context {
	var c Context
	putRandom(c.Trace[:8])
	putRandom(c.Trace[8:])
	putRandom(c.Span[:])
	const half = 1 << 63
	c.Sampled = part >= 1 || float64(binary.BigEndian.Uint64(c.Trace[8:])>>1) < part*half
	return c
}

// Child returns a new span of the same trace.
func (c Context) Child() Context {
	putRandom(c.Span[:])
	return c
}

// putRandom writes eight random bytes of an id. Ids are not secrets.
func putRandom(to []byte) { binary.BigEndian.PutUint64(to, rand.Uint64()) }

// IsZero reports whether it is not a span.
func (c Context) IsZero() bool { return c == Context{} }

// The form is VERSION-TRACE-SPAN-FLAGS, in hexadecimal digits.
const (
	traceAt, spanAt, flagsAt = 3, 36, 53
	length                   = 55
	sampled                  = 1
)

// Parse reads a traceparent, and reports whether it is valid.
func Parse(text string) (Context, bool) {
	var c Context
	var version, flags [1]byte
	if len(text) < length || text[traceAt-1] != '-' || text[spanAt-1] != '-' || text[flagsAt-1] != '-' ||
		!unhex(version[:], text[:traceAt-1]) || !unhex(c.Trace[:], text[traceAt:spanAt-1]) ||
		!unhex(c.Span[:], text[spanAt:flagsAt-1]) || !unhex(flags[:], text[flagsAt:length]) {
		return Context{}, false
	}
	later := len(text) > length // later versions may have more members
	if version[0] == 0xff || version[0] == 0 && later || later && text[length] != '-' || c.Trace == (TraceID{}) || c.Span == (SpanID{}) {
		return Context{}, false
	}
	c.Sampled = flags[0]&sampled != 0
	return c, true
}

// unhex decodes lower-case digits, the only ones that the form allows.
func unhex(to []byte, text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	_, err := hex.Decode(to, []byte(text))
	return err == nil
}

// String returns the traceparent.
func (c Context) String() string {
	text := make([]byte, 0, length)
	text = append(text, "00-"...)
	text = append(hex.AppendEncode(text, c.Trace[:]), '-')
	text = append(hex.AppendEncode(text, c.Span[:]), "-00"...)
	if c.Sampled {
		text[length-1] = '1'
	}
	return string(text)
}

// maxText limits a tracestate and a baggage, as W3C Baggage does.
const maxText = 8192

// Passes reports whether a tracestate or baggage can be the value of a header.
func Passes(text string) bool {
	if text == "" || len(text) > maxText {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && c != '\t' {
			return false
		}
	}
	return true
}
