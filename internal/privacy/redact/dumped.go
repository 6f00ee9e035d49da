package redact

import (
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// nearWritings are how programs print what they hold, and how protocols, forms and sentences say a secret: on lines that mention one.
var nearWritings = []writing{
	{ // PHP's serialize
		[]string{"s:"},
		func(before, behind string) bool {
			return behind != "" && isDigit(behind[0]) && (before == "" || !isWord(before[len(before)-1]))
		},
		lazily(`\bs:\d{1,4}:\\?"([^"\\\n]{1,80})\\?";s:\d{1,5}:\\?"([^"\\\n]+)`), namesSecret,
	},
	{ // Erlang, Lisp
		[]string{`,"`, `, "`, `. "`, `,<<"`, `, <<"`},
		inBrackets,
		lazily(`[{(]["']?([A-Za-z_][\w\-]{2,60})["']?\s{0,3}(?:,\s{0,3}(?:<<)?|\s\.\s)"([^"\n]{6,})"(?:>>)?\s{0,3}[})]`), toldSecret,
	},
	{ // Python
		[]string{"uth=(", `uth": (`, `uth": [`, `uth":[`, "uth(", "redentials=(", "ogin=("},
		anywhere,
		lazily(`(?i)(?:auth|credentials|login)["']?\s{0,3}[:=]?\s{0,3}[\[(]\s{0,3}\\?["'][^"'\n:]{0,80}["']\s{0,3},\s{0,3}` +
			`\\?["']([^"'\n]{3,})["']\s{0,3}[\])]`), toldAlone,
	},
	{
		[]string{" / "},
		func(before, _ string) bool { return nearBefore(before, "redential", "ogin", "user", "User") },
		lazily(`(?i)\b(credentials?|log-?in|user(?:name)?\s?[/&]\s?pass(?:word)?)\s{0,2}[:=]\s{0,2}` +
			`\S{1,64}\s{1,2}/\s{1,2}([^\s,;"']{4,})`),
		func(name, value string) bool {
			only := strings.HasPrefix(strings.ToLower(name), "cred") && !secret.Name(value)
			return toldAlone("", value) || only && isPlaced("", value)
		},
	},
	{
		[]string{"provided", "given", "supplied", "received", "specified"},
		func(_, behind string) bool { return strings.Contains(behind[:min(len(behind), len(" was : "))], ":") },
		lazily(`(?i)\b(?:api[ _-]?key|access[ _-]?key|token|password|passphrase|secret|credential)s? ` +
			`(?:provided|given|supplied|received|specified)(?: was| is)?\s?:\s?` +
			`["'` + "`" + `]?([^\s"'` + "`" + `,;()]{5,}[^\s"'` + "`" + `,;().])`),
		toldAlone,
	},
	{ // HTML
		[]string{`type="password`, `type='password`, `type=\"password`},
		anywhere,
		lazily(`\btype=\\?["']password\\?["'][^<>]{0,300}?\bvalue=\\?["']([^"'\\<>\n]+)`), nil,
	},
	{
		[]string{`type="password`, `type='password`, `type=\"password`},
		anywhere,
		lazily(`\bvalue=\\?["']([^"'\\<>\n]+)\\?["'][^<>]{0,300}?\btype=\\?["']password`), nil,
	},
	{ // lists of members, as programs print them
		[]string{"["},
		func(before, behind string) bool {
			const least = 6
			end, name := indexOfSet(behind, &endsIndex), lastWord(before)
			return end >= least && strings.HasPrefix(behind[end:], "]") && secret.Name(name) && isWord(name[len(name)-1])
		},
		lazily(`\b([A-Za-z_][\w\-]{1,60})\[([^\s\[\]"'=]{6,})\](?:[\s,;:!?)"']|\.\s|\.?$)`),
		func(name, value string) bool {
			return namesSecret(name, value) && isNoName(value) && !containsAny(value, "a-z", "A-Z", "0-9") // a pattern
		},
	},
	{
		[]string{`" is `, "' is ", "` is "},
		func(_, behind string) bool {
			return strings.HasPrefix(behind, "not ") || strings.HasPrefix(behind, "an ") || strings.HasPrefix(behind, "a ")
		},
		lazily("(?i)[\"'`]([^\"'`\n]{4,})[\"'`] is " + noValid + `\b`),
		func(_, value string) bool { return toldAlone("", value) && isNoName(value) },
	},
	{ // Windows
		[]string{"setx "},
		anywhere,
		lazily(`\bsetx\s{1,4}(?:/m\s{1,4})?"?([A-Za-z_]\w{2,60})"?\s{1,4}"?([^\s"]+)`), namesSecret,
	},
}

// noValid are the names of what a value in quotes is not.
const noValid = `(?:not (?:a |an |the )?(?:valid|correct|right)|an? (?:invalid|incorrect|wrong)) ` +
	`(?:password|passphrase|passcode|api[ _-]?key|(?:access|auth)[ _-]?token|token|secret)`

// otherWritings are those that name no secret.
var otherWritings = []writing{
	{ // a list of arguments
		[]string{`"-u`, `'-u`, `"--user`, `'--user`},
		anywhere,
		lazily(`["'](?:-u|--user)\\?["']\s{0,4},\s{0,4}\\?["']([^"'\\\n:/]{1,64}:[^"'\\\n]+)`), nil,
	},
	{
		[]string{`"-p`, `'-p`},
		func(before, _ string) bool { return nearBefore(before, "mysql", "mariadb") },
		lazily(`["'](?:[\w/.]{0,60}/)?(?:mysql|mariadb)\w{0,20}\\?["'][^\n\[\]]{0,300}?["']-p([^"'\\\n]{3,})`), nil,
	},
	{ // IMAP, SMTP
		[]string{" LOGIN ", "AUTH "},
		anywhere,
		lazily(`\b(?:LOGIN\s"?[^\s"]{1,64}"?\s"?|AUTH\s(?:PLAIN|LOGIN|XOAUTH2|OAUTHBEARER)\s)([^\s"]{4,})`), toldAlone,
	},
	{ // IMAP, with the tag of the command
		[]string{" LOGIN "},
		anywhere,
		lazily(`(?m)(?:^|\s)[A-Za-z]{1,4}\d{1,6}\sLOGIN\s"?[^\s"]{1,64}"?\s"?([^\s"]{4,})`), isPlaced,
	},
	{ // Windows
		[]string{"net use", "NET USE"},
		anywhere,
		lazily(`(?i)\bnet use (?:\S{1,2} )?\\{2,4}\S{1,200} ([^\s/*]\S{2,}) /`), isPlaced,
	},
	{
		[]string{"net use", "NET USE"},
		anywhere,
		lazily(`(?i)\bnet use (?:\S{1,2} )?\\{2,4}\S{1,200}(?: /u(?:ser)?:\S{1,80})? ([^\s/*]\S{2,})`), toldAlone,
	},
	{ // links that let in who has them
		[]string{"reset", "verif", "invit", "magic", "activat", "confirm", "recover"},
		func(_, behind string) bool { return strings.HasPrefix(behind[skip(behind, 0, 200, isOfLink):], "?") },
		lazily(`/[\w\-./%]*(?:reset|verif|invit|magic|activat|confirm|recover)[\w\-./%]*\?(?:[^\s"'<>?]*?&)??` +
			`(?:[chkstvx]|[a-z]t|tk)=([^\s"'<>&#,;)]{6,})`), func(_, value string) bool { return random(value) && !isMark(value) },
	},
	{ // SQL
		[]string{"dentified by", "DENTIFIED BY"},
		anywhere,
		lazily(`(?i)\b(?:user|role)\s{1,4}\S{1,80}\s{1,4}identified by\s{1,4}([^\s'";,]{4,})`), toldAlone,
	},
	{
		[]string{"dentified by", "DENTIFIED BY"},
		anywhere,
		lazily(`(?i)\b(?:create|alter)\s{1,4}(?:user|role)\s{1,4}\S{1,80}\s{1,4}identified by\s{1,4}([^\s'";,]{4,})`), isPlaced,
	},
	{
		[]string{"ragma ", "RAGMA "},
		anywhere,
		lazily(`(?i)\bpragma\s{1,4}(?:\w{1,40}\.)?(?:hex)?(?:re)?key\s{0,4}=\s{0,4}["']([^"'\n]+)`), nil,
	},
	{
		[]string{"sqlplus "},
		anywhere,
		lazily(`\bsqlplus\s{1,4}(?:[\w\-=]{1,40}\s{1,4}){0,3}["']?[\w$#]{1,64}/([^\s@"'/]{3,})`), nil,
	},
}

// endsIndex are the bytes that such a member does not have.
var endsIndex = setOf(" \t\n\f\r[]\"'=")

func isOfLink(c byte) bool { return ofHosts[c] || c == '/' || c == '%' }

// anywhere keeps the search for a pattern to the lines that hold its text.
func anywhere(_, _ string) bool { return true }

// nearBefore reports whether one of the words stands shortly before.
func nearBefore(before string, words ...string) bool {
	const near = 300
	return holdsOne(before[max(0, len(before)-near):], words)
}

// inBrackets reports whether what stands before a comma and a quote may be a name after a bracket, as in {password,"x"}.
func inBrackets(before, _ string) bool {
	const longest = 64
	end := len(trimEnd(before, &quotesAndBlanks))
	start := back(before, end, max(0, end-longest), &ofDashed)
	head := start - 1
	if head > 0 && isQuote(before[head]) {
		head--
	}
	return end > start && head >= 0 && (before[head] == '{' || before[head] == '(') && secret.Name(before[start:end])
}

// ofDashed are the bytes of words with dashes.
var ofDashed = setThat(func(c byte) bool { return isWord(c) || c == '-' })

var quotesAndBlanks = setOf(" \"'")

// toldSecret is namesSecret where a word may stand in place of the secret.
func toldSecret(name, value string) bool { return namesSecret(name, value) && isTold(value) }

// isPlaced is for writings in which nothing but a secret stands in that place.
func isPlaced(_, value string) bool { return namesSecret("password", value) }

// toldAlone is for writings without a name. What has been masked already, as in rk_test_****abcd, tells which key it was.
func toldAlone(_, value string) bool {
	return isTold(value) && !isMark(value) && !isPlaceholder(value) && !strings.Contains(value, "***")
}
