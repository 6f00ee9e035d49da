package toolcall

import (
	stdjson "encoding/json"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Look returns the call that settles whether this one took effect, with all its arguments, for the program itself to make;
// nil if nobody who is trusted names one, or if an argument that it needs is missing.
func (c *Call) Look() *recourse.Verify {
	var v *recourse.Verify
	switch of := c.verifying(); {
	case c.Verify != nil:
		v = c.Verify.of(c.Arguments, func([]byte) bool { return true })
		if len(v.Args)+len(v.From) < len(c.Verify.From)+len(c.Verify.With) {
			return nil
		}
	case of != nil:
		v = of.VerifyFor(c.asked())
	}
	if v == nil {
		return nil
	}
	return contractform.Fill(v, c.Arguments)
}

// Landed judges by the answer to that call whether this one took effect. result is the tool's result; nil means that the
// thing does not exist. known is false if nobody says how to tell.
func (c *Call) Landed(result json.Value) (landed, known bool) {
	data := contractform.DataOf(result)
	if data == nil && result != nil {
		return false, false
	}
	if c.Verify != nil {
		return c.Verify.Landed.Judge(data, c.Arguments)
	}
	if of := c.verifying(); of != nil {
		return of.Landed(c.asked(), data)
	}
	return false, false
}

// verifying returns the contract that names that call, or nil.
func (c *Call) verifying() *contract.Contract {
	switch {
	case c.Contract.Writes(c.Name):
		return c.Contract
	case c.Kept != nil && c.Kept.Writes(c.Name):
		return c.Kept
	default:
		return nil
	}
}

func (c *Call) asked() *contract.Call {
	return &contract.Call{Tool: c.Name, Arguments: stdjson.RawMessage(c.Arguments)}
}
