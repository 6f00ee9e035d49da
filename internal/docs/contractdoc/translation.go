package contractdoc

import (
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
)

// A Translation says what the failures of one contract become in another, for a client that ignores the record in
// _meta. With the record nothing is lost.
type Translation struct {
	// Codes has an entry for each code of the first contract that a failed tool call
	// can have, in its order.
	Codes []TranslatedCode
	// Lost is what the first contract carries and the second does not.
	Lost []Lost
}

// A TranslatedCode is what a code becomes.
type TranslatedCode struct {
	Code string // of the first contract
	As   string // the code of the second
	Back string // the code of the first contract when the failure is translated back
	// Retryable and AsRetryable are what the first and the second contract say about repeating the call.
	Retryable, AsRetryable bool
}

// Translate returns what the failures of c become in target: each is written by c, read, written by target, and read
// again.
func Translate(c, target *contract.Contract) Translation {
	return Translation{
		Codes: translatedCodes(c, target),
		Lost: lossOfKinds(func(kind recourse.Kind) ([]string, bool) {
			_, told, ok := carry(c, contractform.Everything(kind))
			if !ok {
				return nil, false
			}
			_, read, ok := carry(target, told)
			if !ok {
				return nil, false
			}
			return lostBetween(inWordsOf(told, read), read), true
		}),
	}
}

func translatedCodes(c, target *contract.Contract) []TranslatedCode {
	call := &contract.Call{Method: methodToolsCall, Now: contractform.ExampleTime}
	// passed returns e as a client receives it if the contract by has written it.
	passed := func(by *contract.Contract, e *recourse.Error) *recourse.Error {
		if _, read, ok := carry(by, e); ok {
			return read
		}
		return by.Write(e, call).Record // it is in the data of a JSON-RPC error
	}
	pages := pageWriter{described: describe(c)}
	var list []TranslatedCode
	for _, en := range pages.form.Codes {
		example := Example(c, en)
		if written := c.Write(example, call).Record; written.Code != en.Code {
			continue // another system's word, or a code for HTTP only
		}
		told := passed(c, example)
		list = append(list, TranslatedCode{
			Code:        en.Code,
			As:          target.Write(told, call).Record.Code,
			Back:        c.Write(passed(target, told), call).Record.Code,
			Retryable:   c.Retryable(told, call),
			AsRetryable: target.Retryable(told, call),
		})
	}
	return list
}

// inWordsOf returns e with the codes of read: a difference in codes is not a loss.
func inWordsOf(e, read *recourse.Error) *recourse.Error {
	e = e.WithCode(read.Contract, read.Code)
	e.Failed = slices.Clone(e.Failed)
	for i := range min(len(e.Failed), len(read.Failed)) {
		if item, other := e.Failed[i].Error, read.Failed[i].Error; item != nil && other != nil {
			e.Failed[i].Error = item.WithCode(other.Contract, other.Code)
		}
	}
	return e
}
