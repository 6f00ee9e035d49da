package trace

import (
	"encoding/binary"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// A message is one of OTLP's, or a part of it, in protobuf's encoding
// (https://github.com/open-telemetry/opentelemetry-proto, opentelemetry/proto). It is written at once: as
// values of the generated types, the spans of a call would be some fifty objects.
type message []byte

// The fields of OTLP's messages.
const (
	tracesResourceSpans protowire.Number = 1

	resourceSpansResource   protowire.Number = 1
	resourceSpansScopeSpans protowire.Number = 2

	resourceAttributes protowire.Number = 1

	scopeSpansScope protowire.Number = 1
	scopeSpansSpans protowire.Number = 2

	scopeName    protowire.Number = 1
	scopeVersion protowire.Number = 2

	spanTraceID    protowire.Number = 1
	spanID         protowire.Number = 2
	spanState      protowire.Number = 3
	spanParentID   protowire.Number = 4
	spanName       protowire.Number = 5
	spanKind       protowire.Number = 6
	spanStart      protowire.Number = 7
	spanEnd        protowire.Number = 8
	spanAttributes protowire.Number = 9
	spanLinks      protowire.Number = 13
	spanStatus     protowire.Number = 15
	spanFlags      protowire.Number = 16

	linkTraceID protowire.Number = 1
	linkSpanID  protowire.Number = 2

	statusCode protowire.Number = 3

	attributeKey   protowire.Number = 1
	attributeValue protowire.Number = 2

	valueText   protowire.Number = 1
	valueNumber protowire.Number = 3
)

// begin begins a message of a known length in a field.
func (m *message) begin(field protowire.Number, length int) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.BytesType), uint64(length)) //nolint:gosec // no length is negative
}

// open begins a message in a field. What is added before close is called with the result is part of it.
func (m *message) open(field protowire.Number) (at int) {
	*m = protowire.AppendTag(*m, field, protowire.BytesType)
	return len(*m)
}

func (m *message) close(at int) {
	var length [binary.MaxVarintLen64]byte
	*m = slices.Insert(*m, at, protowire.AppendVarint(length[:0], uint64(len(*m)-at))...) //nolint:gosec // at was its length
}

// size returns the size of a field with a message of that length.
func size(field protowire.Number, length int) int {
	return protowire.SizeTag(field) + protowire.SizeBytes(length)
}

// bytes adds bytes, or a message. Empty ones are left out.
func (m *message) bytes(field protowire.Number, value []byte) {
	if len(value) > 0 {
		m.begin(field, len(value))
		*m = append(*m, value...)
	}
}

// string adds a text. An empty one is left out.
func (m *message) string(field protowire.Number, value string) {
	if value != "" {
		m.begin(field, len(value))
		*m = append(*m, value...)
	}
}

func (m *message) varint(field protowire.Number, value uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), value)
}

func (m *message) fixed32(field protowire.Number, value uint32) {
	*m = protowire.AppendFixed32(protowire.AppendTag(*m, field, protowire.Fixed32Type), value)
}

func (m *message) fixed64(field protowire.Number, value uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), value)
}

// maxText limits the texts of spans, in bytes.
const maxText = 256

// text adds an attribute.
func (m *message) text(field protowire.Number, key, value string) {
	value = strings.ToValidUTF8(value[:min(len(value), maxText)], "") // invalid UTF-8 would make the collector refuse the whole batch
	m.attribute(field, key, size(valueText, len(value)))
	m.begin(valueText, len(value))
	*m = append(*m, value...)
}

// number adds an attribute of a span.
func (m *message) number(key string, value int64) {
	encoded := uint64(value) //nolint:gosec // negative numbers are encoded in two's complement
	m.attribute(spanAttributes, key, protowire.SizeTag(valueNumber)+protowire.SizeVarint(encoded))
	m.varint(valueNumber, encoded)
}

// attribute begins an attribute; the value follows, and has that length.
func (m *message) attribute(field protowire.Number, key string, length int) {
	m.begin(field, size(attributeKey, len(key))+size(attributeValue, length))
	m.string(attributeKey, key)
	m.begin(attributeValue, length)
}
