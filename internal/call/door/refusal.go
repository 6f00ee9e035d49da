package door

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// kinds are the kinds of failures by the codes that package wire uses.
var kinds = map[int]recourse.Kind{
	wire.CodeParseError:         recourse.KindMalformed,
	wire.CodeInvalidRequest:     recourse.KindInvalidRequest,
	wire.CodeMethodNotFound:     recourse.KindUnknownMethod,
	wire.CodeInvalidParams:      recourse.KindMissingParam,
	wire.CodeHeaderMismatch:     recourse.KindHeaderMismatch,
	wire.CodeUnsupportedVersion: recourse.KindUnsupportedVersion,
}

// Refused returns the record of a message that package wire refuses with err.
func Refused(err error) *recourse.Error {
	refusal, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return recourse.Internal().CausedBy(err)
	}
	e := recourse.New(kinds[refusal.Code], strings.ToUpper(refusal.Message[:1])+refusal.Message[1:]+".")
	if e.Kind == recourse.KindMissingParam {
		e = e.WithViolations(recourse.Violation{
			Pointer: refusal.Pointer, Param: strings.Join(slices.Collect(json.Pointer(refusal.Pointer).Tokens()), "."),
			Rule: "required", Message: refusal.Message,
		})
	}
	return e
}

// FirstID returns the id in a text that is not a valid message, or in the beginning of one, so that the
// client's program knows what was refused; nil if it cannot be read.
func FirstID(text []byte) wire.ID { return wire.Outlined(bytes.NewReader(text)).ID }

// WithVersions adds to the data of a JSON-RPC error what MCP 2026-07-28 requires for an unsupported version
// of the protocol ("Errors").
func WithVersions(data []byte, spoken []string, asked string) []byte {
	supported, err := json.Marshal(spoken)
	if err != nil || len(data) < len("{}") {
		return data
	}
	const most = 64
	asked = strings.ToValidUTF8(asked[:min(len(asked), most)], "")
	return append(fmt.Appendf(nil, `{"supported":%s,"requested":%s,`, supported, json.AppendQuote(nil, asked)), data[1:]...)
}
