package args

import (
	"math/big"
	"strconv"
	"strings"
)

// maxDigits limits the numbers used in calculations: a number of ten characters may mean one of a million
// digits.
const maxDigits = 1000

// decimal is a JSON number, exact and of any size: digits times ten to the power
// of exp. The digits neither begin nor end with a zero; zero has none.
type decimal struct {
	negative bool
	digits   string
	exp      int
}

// parseDecimal reads a JSON number. ok is false if the exponent does not fit into an int: nobody means such a
// number.
func parseDecimal(number string) (d decimal, ok bool) {
	number, d.negative = strings.CutPrefix(number, "-")
	mantissa := number
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		exp, err := strconv.ParseInt(number[i+1:], 10, 32)
		if err != nil {
			return decimal{}, false
		}
		mantissa, d.exp = number[:i], int(exp)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.exp -= len(fraction)
	d.digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(d.digits, "0")
	d.exp += len(d.digits) - len(short)
	d.digits = short
	if short == "" {
		return decimal{}, true
	}
	return d, true
}

// fromRat returns the decimal of a limit that was written as one.
func fromRat(r *big.Rat) *decimal {
	if r == nil {
		return nil
	}
	places, _ := r.FloatPrec()
	d, _ := parseDecimal(r.FloatString(places))
	return &d
}

// sign returns -1, 0 or 1.
func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

// compare returns -1, 0 or 1 as d is less than, equal to or greater than o.
func (d decimal) compare(o decimal) int {
	s := d.sign()
	if s != o.sign() {
		if s < o.sign() {
			return -1
		}
		return 1
	}
	if s == 0 {
		return 0
	}
	size, other := len(d.digits)+d.exp, len(o.digits)+o.exp
	switch {
	case size < other:
		return -s
	case size > other:
		return s
	default: // the same power of ten: the digits compare like strings
		return s * strings.Compare(d.digits, o.digits)
	}
}

// whole reports whether d is an integer, in any spelling.
func (d decimal) whole() bool { return d.exp >= 0 }

// multipleOf reports whether d is a multiple of unit. A number of more than
// maxDigits digits counts as one.
func (d decimal) multipleOf(unit *big.Rat) bool {
	if d.exp > maxDigits || d.exp < -maxDigits || len(d.digits) > maxDigits {
		return true
	}
	r, ok := new(big.Rat).SetString(d.String())
	return !ok || r.Quo(r, unit).IsInt()
}

// String returns the shortest usual spelling.
func (d decimal) String() string {
	var sign string
	if d.negative {
		sign = "-"
	}
	switch size := len(d.digits) + d.exp; {
	case d.digits == "":
		return "0"
	case d.exp >= 0 && size <= 21:
		return sign + d.digits + strings.Repeat("0", d.exp)
	case d.exp < 0 && size > 0:
		return sign + d.digits[:size] + "." + d.digits[size:]
	case d.exp < 0 && size > -6:
		return sign + "0." + strings.Repeat("0", -size) + d.digits
	default:
		return sign + d.digits + "e" + strconv.Itoa(d.exp)
	}
}
