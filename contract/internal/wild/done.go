package wild

import (
	"regexp"
	"strings"

	"github.com/recoursehq/recourse"
)

// A text that tells what was done before something failed ("Created order 17, but the mail server refused the connection")
// says that the call took effect in part, whatever the failure means elsewhere. That is a matter of grammar rather than of
// any system's words, so it holds for all families: a clause says that something was done, and nothing in it denies that,
// asks for it, or says that it was done before or by somebody else.

const (
	// work are participles of what only a call can have done, for the active and the passive.
	work = `(?:created|saved|uploaded|inserted|written|wrote|posted|published|deployed|committed|added|imported|stored|` +
		`scheduled|booked|paid|charged|refunded|transferred|submitted|applied|copied|persisted|queued|enqueued|sent|emailed|` +
		`registered|completed|finished|succeeded|processed|provisioned|placed|pushed|generated|synced|appended|captured|cloned|credited|` +
		`debited|deposited|forked|forwarded|initiated|launched|minted|purchased|upserted|withdrawn)`
	// states also describe how something was found ("the message was deleted"): of them only the active counts, or a number.
	states = `(?:deleted|removed|updated|moved|renamed|merged|changed|modified|closed|cancelled|canceled|archived|configured|` +
		`installed|restarted|started|stopped|downloaded|patched|migrated|replaced|reset|disabled|enabled|dropped)`
	either = `(?:` + work + `|` + states + `)`
	noun   = `[\w/.@#"-]+`
)

var (
	reQuotes = regexp.MustCompile(`"[^"\n]{0,200}"|'[^'\n]{0,200}'(?:[^\pL]|$)|\x60[^\x60\n]{0,200}\x60`)
	// reBreak is what stands between clauses.
	reBreak = regexp.MustCompile(`\s*[.!?;:,)]+(?:\s+|$)|\s+[-–—]+\s+|\s*\n\s*|\s*\(|\s+(?:but|however|although|yet|whereas|and|then)\s+`)
	// reBegun is how a clause begins that says what was done.
	reBegun = regexp.MustCompile(`(?i)^(?:(?:I|we)(?:'ve| have)? |partially )?` + either + `(?:$| \S+)`)
	reDone  = regexp.MustCompile(`(?i)` + strings.Join([]string{
		`^successfully ` + either + `\b`,
		`\b` + either + ` successfully$`,
		`^` + noun + `(?: ` + noun + `){0,5} (?:(?:was|were|got|has been|have been) )?` + work +
			`(?: (?:in|to|as|with (?:id|number|key|name)) [\S ]+)?$`,
		`^[\w.-]+/[\w./-]+ ` + either + `$`, // deployment.apps/web configured
		`\b[1-9]\d*(?: ?(?:/|of|out of) ?\d+)?(?: \pL+){0,3} (?:(?:was|were|have been) )?` + either + `\b`,
		`\bafter (?:creating|saving|uploading|inserting|writing|posting|publishing|deploying|committing|adding|importing|sending|` +
			`charging|deleting|updating|moving|processing|completing) `,
		`^partial(?:ly)? success`,
		`^step \d+(?: ?(?:/|of) ?\d+)? (?:done|ok|completed?|finished|succeeded)$`,
	}, `|`))
	// reWas says how something is now. That somebody goes on with "but" makes it this call's work.
	reWas = regexp.MustCompile(`(?i)\b(?:was|were) ` + states + `$`)
	reBut = regexp.MustCompile(`(?i)(?:^|\s)(?:but|however|although|yet)\s`)
	// reDenied are the words with which a clause says that it was not done, has to be or may be, was before or by others, how
	// often it is allowed, or that a program has come to its end.
	reDenied = regexp.MustCompile(`(?i)\b(?:not|no|never|none|nothing|neither|without|cannot|can|could|must|should|shall|would|` +
		`will|may|might|if|unless|until|when|while|once|because|unable|error|invalid|already|by|required|expected|needs?|` +
		`only|zero|rolled back|reverted|fields?|dates?|at|is|are|too|than|or|which|that|who|limit|quota|per|most|today|ago|` +
		`(?:task|job|process|command|script|build|requests?|query|program) (?:was |were )?(?:finished|completed|processed|sent)` +
		`)\b|n't\b|\b0 (?:of|out of|/)|^0 `)
)

const (
	// maxClauses limits how many clauses of a text are looked at, maxClause how long one is, in bytes.
	maxClauses = 40
	maxClause  = 160
	maxBut     = len("although ")
)

// SaysDone reports whether a text about a failure also says that something was done.
func SaysDone(text string) bool {
	text = reQuotes.ReplaceAllString(text[:min(len(text), maxSearched)], "x ")
	breaks := reBreak.FindAllStringIndex(text, maxClauses)
	listed := false // whether the clause goes on with a list
	for from := 0; len(breaks) > 0; breaks = breaks[1:] {
		at, next := breaks[0][0], breaks[0][1]
		if isDone(text[from:at], listed, reBut.MatchString(text[at:min(len(text), next+maxBut)])) {
			return true
		}
		from, listed = next, text[at] == ','
		if len(breaks) == 1 && isDone(text[from:], listed, false) {
			return true
		}
	}
	return false
}

// isDone reports whether a clause says that something was done. listed says that it goes on with a list, but that an objection
// follows.
func isDone(clause string, listed, but bool) bool {
	clause = strings.TrimSpace(clause)
	if len(clause) > maxClause || reDenied.MatchString(clause) {
		return false
	}
	return !listed && reBegun.MatchString(clause) || reDone.MatchString(clause) || but && reWas.MatchString(clause)
}

// reBroke is what says that a connection broke that there was.
var reBroke = regexp.MustCompile(`(?i)\b(?:ECONNRESET|EPIPE|socket hang up|connection reset|broken pipe|(?:read|write) ETIMEDOUT|` +
	`connection (?:was )?(?:lost|dropped|interrupted)|lost (?:the )?connection)\b`)

// afterBreak reports whether a text that says what could not be connected to says before that a connection broke: then it tells of an
// attempt to connect again, and what was sent before may have arrived.
func (f *hit) afterBreak() bool {
	return f.e.Effect == recourse.EffectNone && f.e.Kind.Class() == recourse.ClassUpstream && f.at > 0 && reBroke.MatchString(f.text[:f.at])
}
