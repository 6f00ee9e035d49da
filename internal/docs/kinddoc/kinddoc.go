// Package kinddoc knows where kinds of failures are explained to people.
package kinddoc

import "github.com/recoursehq/recourse"

// URL returns the address at which a kind is explained.
func URL(kind recourse.Kind) string {
	return "https://github.com/recoursehq/recourse/blob/main/docs/failures.md#" + string(kind)
}
