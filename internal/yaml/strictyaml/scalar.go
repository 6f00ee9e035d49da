package strictyaml

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// resolve returns the kind of a plain scalar by the core schema (YAML 1.2, section 10.3.2).
func resolve(text string) NodeKind {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return KindNull
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return KindBool
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN":
		return KindFloat
	}
	if !strings.ContainsRune("+-.0123456789", rune(text[0])) {
		return KindString
	}
	if isInt(text) {
		return KindInt
	}
	if isFloat(text) {
		return KindFloat
	}
	return KindString
}

// isInt accepts 12, -3, 0o17 and 0xff. A leading zero is refused: YAML 1.1 read it as octal and YAML 1.2 does not, so
// either reading could be wrong.
func isInt(text string) bool {
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		return consistsOf(digits, "0123456789abcdefABCDEF")
	}
	if digits, ok := strings.CutPrefix(text, "0o"); ok {
		return consistsOf(digits, "01234567")
	}
	digits := strings.TrimLeft(text, "+-")
	return len(text)-len(digits) <= 1 && consistsOf(digits, "0123456789") && !leadingZero(digits)
}

func isFloat(text string) bool {
	unsigned := strings.TrimLeft(text, "+-")
	if len(text)-len(unsigned) > 1 || !consistsOf(unsigned, "0123456789.eE+-") || leadingZero(unsigned) {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

func leadingZero(digits string) bool {
	return len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'
}

func consistsOf(text, set string) bool {
	return text != "" && strings.Trim(text, set) == ""
}

// parseBool reads true and false. For other words that people and YAML 1.1 use, the hint says which of the two is
// meant.
func parseBool(text string) (value bool, hint string, ok bool) {
	switch text {
	case "true", "false":
		return text == "true", "", true
	}
	switch strings.ToLower(text) {
	case "true", "yes", "y", "on", "1":
		return false, "write `true`", false
	case "false", "no", "n", "off", "0":
		return false, "write `false`", false
	default:
		return false, "", false
	}
}

func parseInt(text string, bits int) (int64, bool) {
	base := 10
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		text, base = digits, 16
	} else if digits, ok := strings.CutPrefix(text, "0o"); ok {
		text, base = digits, 8
	}
	n, err := strconv.ParseInt(text, base, bits)
	return n, err == nil
}

// parseFloat reads a finite number.
func parseFloat(text string) (float64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// durationHint says how a duration is written.
const durationHint = "write it as `500ms`, `20s` or `1m30s`"

// maxDays is the most days in 63 bits of nanoseconds.
const maxDays = int64(math.MaxInt64 / (24 * time.Hour))

// parseDuration reads `20s`, `1m30s` and `30d`; if it cannot, the hint says how to write one.
func parseDuration(text string) (d time.Duration, hint string, ok bool) {
	if number, isDays := strings.CutSuffix(text, "d"); isDays && consistsOf(number, "0123456789") {
		days, err := strconv.ParseInt(number, 10, 64)
		return time.Duration(days) * 24 * time.Hour, durationHint, err == nil && days <= maxDays
	}
	d, err := time.ParseDuration(text)
	switch {
	case strings.Trim(text, "0") == "":
		return 0, durationHint, false
	case err != nil && consistsOf(text, "0123456789"):
		return 0, "say the unit: `" + quotable(text) + "s` or `" + quotable(text) + "ms`", false
	case err != nil:
		return 0, durationHint, false
	default:
		return d, "", true
	}
}

// A Size is a number of bytes, written as 512, 256KiB, 4MiB or 1MB: KiB, MiB and GiB count by 1,024; kB, KB, MB and GB
// by 1,000.
type Size int64

var _ Unmarshaler = (*Size)(nil)

// UnmarshalYAML reads the size.
func (s *Size) UnmarshalYAML(n *Node) error {
	size, ok := ParseSize(n.Text())
	if !ok {
		return n.Expected("a size", "write it as `4MiB`, `256KiB` or `1MB`")
	}
	*s = size
	return nil
}

// ParseSize reads a size; ok is false for anything else, and for sizes that exceed 63 bits.
func ParseSize(text string) (size Size, ok bool) {
	digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
	unit, known := sizeUnits()[strings.TrimPrefix(text[len(digits):], " ")]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || n > math.MaxInt64/unit {
		return 0, false
	}
	return Size(n * unit), true
}

// String returns the size in the largest unit in which it is a whole number: 4MiB, 1000.
func (s Size) String() string {
	for _, unit := range []string{"GiB", "MiB", "KiB"} {
		if n := sizeUnits()[unit]; s != 0 && int64(s)%n == 0 {
			return strconv.FormatInt(int64(s)/n, 10) + unit
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

func sizeUnits() map[string]int64 {
	return map[string]int64{
		"": 1, "B": 1,
		"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	}
}
