package contract

import (
	"github.com/recoursehq/recourse/contract/internal/wild"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Seems reads a result that [Reader.Result] takes for a success as if the server's entry named every built-in family. ok says
// that it looks like a failure, and reads is the family whose name in [Reader.Families] makes Result read it as one.
func (r *Reader) Seems(result []byte) (reading Reading, reads string, ok bool) {
	head := headOf(result)
	a := evidence{failed: json.NodeOf(head.Error)}
	r.lookInto(&a, &head)
	reading, of := r.weakly(wild.Builtin(), a)
	if of == nil {
		return Reading{}, "", false
	}
	return r.applyTrust(splitViolations(reading), false), of.Name(), true
}

// weakly reads an answer that reports success by weak forms of these families, and returns the one that it is in.
func (r *Reader) weakly(families []*wild.Family, a evidence) (reading Reading, of *wild.Family) {
	if len(families) == 0 || a.blocks > 1 {
		return Reading{}, nil
	}
	of = wild.FindWeak(families, r.now(), a.text, a.objects)
	if of == nil {
		return Reading{}, nil
	}
	if found, ok := r.found(a); ok { // the other families add to it
		return r.plain(found.Error, weakSign+found.Sign), of
	}
	a.sure = true
	reading = r.failed(a)
	reading.Sign = weakSign + "family " + of.Name()
	return reading, of
}

// weakSign comes before the sign of a failure in an answer that reports success.
const weakSign = "weak sign: "
