package report

import (
	"fmt"
	"io"

	"github.com/recoursehq/recourse/internal/check"
)

// Badge writes the grade as a small picture, in SVG. It has nothing in it that the server says.
func Badge(w io.Writer, r *check.Report) error {
	const label, perLetter, margin = "failures", 7, 12
	grade, colour := r.Letter(), map[string]string{"A": "#1a7a45", "B": "#4c7a1a", "C": "#8a5a00", "D": "#a84300", "F": "#b3261e"}[r.Grade]
	if grade == "" {
		grade, colour = "no grade", "#5d5d6b"
	}
	left, right := len(label)*perLetter+margin, len(grade)*perLetter+margin
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%[3]d" height="20" role="img" aria-label="%[1]s: %[2]s">`+
		`<title>%[1]s: %[2]s (recourse check, %[8]s)</title>`+
		`<clipPath id="r"><rect width="%[3]d" height="20" rx="3"/></clipPath>`+
		`<g clip-path="url(#r)"><rect width="%[4]d" height="20" fill="#3b3b46"/>`+
		`<rect x="%[4]d" width="%[5]d" height="20" fill="%[6]s"/></g>`+
		`<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">`+
		`<text x="%[7]d" y="14">%[1]s</text><text x="%[9]d" y="14">%[2]s</text></g></svg>`+"\n",
		label, grade, left+right, left, right, colour, left/2, r.Mode, left+right/2)
	return err
}
