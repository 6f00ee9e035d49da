package redact

import (
	"slices"
	"strings"
)

// Classes that a contract keeps out of its failures, in addition to what the mode hides.
const (
	Personal  = "personal"  // data about people
	Addresses = "addresses" // of machines, whoever wrote them
)

// With returns a Masker that also masks these classes, in each mode but [Off]: a contract's `mask`. Unknown classes are
// ignored.
func (m *Masker) With(classes ...string) *Masker {
	if len(classes) == 0 {
		return m
	}
	with := *m
	if with.mode == Off { // classes that are asked for are masked even then, and so are credentials
		with.mode = Secrets
	}
	with.personal = with.personal || slices.Contains(classes, Personal)
	with.addresses = with.addresses || slices.Contains(classes, Addresses)
	return &with
}

// accountForm is the form of an IBAN (ISO 13616), grouped or not. It may also match words after one.
const accountForm = `[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?`

var (
	// email is an address of RFC 5321, section 4.1.2, as people write it.
	email = lazily(`[\p{L}\p{M}\p{N}!#$&'*+/=?^_{|}~\x60.%\-]{1,64}@` +
		`(?:[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}\-]{0,61}[\p{L}\p{M}\p{N}])?\.){1,8}` +
		`(?:xn--[A-Za-z0-9\-]{1,59}|[\p{L}\p{M}]{2,24})`)

	// labelled is a number in groups after a word that says what it is. In another form a label's value ends at the first blank.
	labelled = lazily(`(?i)(?:\b(?:phone|telephone|tel|mobile|cell|fax|account|acct|card|iban|ssn|social security|passport)` +
		`(?:[ _-]?(?:numbers?|no|nr|num))?|` +
		`\b(?:tax|vat|national|personal)[ _-]?(?:id|numbers?|no|nr))\b(?:["']?[.:=#]{0,2}["']? {0,2}|\. ?(?:[:#] ?)?| is | was )` +
		`(\+?\(?\d[\d()./\x{a0} \-]{4,28}\d)`)

	// digitGroups are digits in groups, as in card and phone numbers.
	digitGroups = lazily(`\+?\(?\d[\d().\x{a0} \-]{5,28}\d`)

	// account is an IBAN, and words after it.
	account = lazily(`\b` + accountForm + `\b`)

	// social is a social security number of the United States.
	social = lazily(`\b\d{3}-\d{2}-\d{4}\b`)
)

// people finds personal data that is recognised by its form.
func people(s string) []span {
	var found []span
	if strings.Contains(s, "@") {
		for _, at := range email().FindAllStringIndex(s, -1) {
			found = append(found, span{at[0] + len(s[at[0]:at[1]]) - len(strings.TrimLeft(s[at[0]:at[1]], "'.{=")), at[1]})
		}
	}
	if strings.ContainsAny(s, "0123456789") {
		for _, at := range labelled().FindAllStringSubmatchIndex(s, -1) {
			if number := s[at[2]:at[3]]; len(digitsOf(number)) >= fewDigits && alone(s, at[2], at[3]) {
				found = append(found, span{at[2], at[3]})
			}
		}
		for _, at := range digitGroups().FindAllStringIndex(s, -1) {
			if alone(s, at[0], at[1]) && (isCard(s[at[0]:at[1]]) || isPhone(s[at[0]:at[1]])) {
				found = append(found, span{at[0], at[1]})
			}
		}
		found = append(found, accounts(s)...)
		for _, at := range social().FindAllStringIndex(s, -1) {
			if alone(s, at[0], at[1]) {
				found = append(found, span{at[0], at[1]})
			}
		}
	}
	found = append(found, valuesOf(s, isPersonal)...)
	slices.SortFunc(found, bySpan)
	return found
}

// fewDigits is how many digits a number has at least that is personal data.
const fewDigits = 6

// mayBePersonal is a fast test that lets too much pass.
func mayBePersonal(s string) bool {
	digits := 0
	for i := range len(s) {
		if isDigit(s[i]) {
			digits++
		}
	}
	return digits >= fewDigits || strings.Contains(s, "@")
}

// alone reports whether a part of s is not part of a longer word or number: no letter or digit, nor a dot or hyphen of
// a number, is next to it.
func alone(s string, start, end int) bool {
	if start > 0 && (isWord(s[start-1]) || start > 1 && strings.IndexByte("-.", s[start-1]) >= 0 && isWord(s[start-2])) {
		return false
	}
	return end == len(s) || !isWord(s[end]) && (end+1 == len(s) || strings.IndexByte("-.", s[end]) < 0 || !isWord(s[end+1]))
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// isCard reports whether s is a payment card number: 13 to 19 digits with the first digits of a card scheme and the
// check digit of ISO/IEC 7812-1 (Luhn).
func isCard(s string) bool {
	digits := digitsOf(s)
	if len(digits) < 13 || len(digits) > 19 || digits[0] < '2' || digits[0] > '6' || strings.ContainsAny(s, "+().") {
		return false
	}
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// isPhone reports whether s is a phone number: international (ITU-T E.164, at most 15 digits), or North American in
// groups of three, three and four.
func isPhone(s string) bool {
	digits := digitsOf(s)
	if strings.HasPrefix(s, "+") {
		return len(digits) >= 8 && len(digits) <= 15
	}
	return northAmerican().MatchString(s)
}

var northAmerican = lazily(`^(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}$`)

// accounts finds IBANs among other words.
func accounts(s string) []span {
	var found []span
	for at := 0; ; {
		match := account().FindStringIndex(s[at:])
		if match == nil {
			return found
		}
		start := at + match[0]
		if text := accountIn(s[start : at+match[1]]); text != "" {
			found = append(found, span{start, start + len(text)})
			at = start + len(text)
		} else { // it may have begun before the IBAN
			at = start + indexOr(s[start:at+match[1]], " ")
		}
	}
}

// accountIn returns the IBAN that a text begins with, up to the end of a word; "" if there is none.
func accountIn(s string) string {
	for !isAccount(s) {
		end := strings.LastIndexByte(s, ' ')
		if end < 0 {
			return ""
		}
		s = s[:end]
	}
	return s
}

// isAccount checks the check digits of an IBAN (ISO 7064, MOD 97-10).
func isAccount(s string) bool {
	s = strings.ToUpper(strings.ReplaceAll(s, " ", ""))
	if len(s) < 15 || len(s) > 34 {
		return false
	}
	rest := 0
	for _, c := range s[4:] + s[:4] {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return rest == 1
}

// personalNames are names of members and parameters with personal data: their words in lower case, written as one.
var personalNames = map[string]bool{
	"email": true, "emailaddress": true, "mail": true, "phone": true, "phonenumber": true, "telephone": true, "mobile": true, "fax": true,
	"firstname": true, "lastname": true, "fullname": true, "surname": true, "givenname": true, "familyname": true, "middlename": true,
	"maidenname": true, "customername": true, "recipientname": true, "cardholder": true, "cardholdername": true,
	"contactname": true, "buyername": true, "billingname": true, "shippingname": true,
	"street": true, "streetaddress": true, "address1": true, "address2": true, "addressline1": true, "addressline2": true,
	"line1": true, "line2": true,
	"postcode": true, "postalcode": true, "zip": true, "zipcode": true, "birthdate": true, "dateofbirth": true, "dob": true,
	"birthday":   true,
	"cardnumber": true, "iban": true, "ssn": true, "socialsecuritynumber": true, "passport": true, "passportnumber": true, "taxid": true,
	"nationalid": true, "accountnumber": true, "cvv": true, "cvc": true,
}

// isPersonal reports whether a name, or the last part of a path, is that of personal data.
func isPersonal(name string) bool {
	const longest = 80
	if i := strings.LastIndexAny(name, "./"); i >= 0 {
		name = name[i+1:]
	}
	if len(name) > longest {
		return false
	}
	return personalNames[asOneWord(name)]
}

// asOneWord returns the words of a name in lower case, written as one.
func asOneWord(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, name))
}
