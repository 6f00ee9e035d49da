package main

import (
	"bytes"
	"fmt"
)

// A figure is a chart of bars: a group for each world, a bar for each agent.
type figure struct {
	title string
	unit  string
	most  float64 // the top of the scale
	value func(t *tally) (value float64, known bool)
}

// recoveredFigure shows which part of the recoverable tasks was recovered.
func (r *result) recoveredFigure() []byte {
	return r.draw(figure{
		title: "Recovered, of what can be recovered, with the gateway", unit: " %", most: 100,
		value: func(t *tally) (float64, bool) {
			s := t.recovered()
			return 100 * float64(s.part) / float64(max(s.all, 1)), s.all > 0
		},
	})
}

// duplicatesFigure shows how many orders were created more than once.
func (r *result) duplicatesFigure() []byte {
	duplicates := func(t *tally) (float64, bool) { return 10_000 * float64(t.duplicates) / float64(max(t.tasks, 1)), true }
	most := 1.0
	for k, t := range r.tallies {
		if n, _ := duplicates(t); k.gateway {
			most = max(most, n)
		}
	}
	return r.draw(figure{title: "Duplicates of 10,000 tasks, with the gateway", most: most, value: duplicates})
}

// colours has one for each agent. Colour-blind people can tell them apart (Okabe and Ito).
var colours = []string{"#0072b2", "#d55e00", "#e69f00", "#cc79a7", "#999999"}

func (r *result) draw(f figure) []byte {
	const (
		left, top, high = 20.0, 70.0, 180.0
		bar, gap        = 18.0, 30.0
	)
	group := bar*float64(len(agents)) + gap
	width := left + group*float64(len(r.worlds))
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f 290" font-family="sans-serif" font-size="11">`+"\n", width)
	fmt.Fprintf(&b, "<title>%s</title>\n", f.title)
	fmt.Fprintf(&b, `<rect width="%.0f" height="290" fill="#ffffff"/>`+"\n", width)
	fmt.Fprintf(&b, `<text x="%.0f" y="20" font-size="14">%s</text>`+"\n", left, f.title)
	for i, a := range agents {
		x := left + 110*float64(i)
		fmt.Fprintf(&b, `<rect x="%.0f" y="32" width="10" height="10" fill="%s"/>`, x, colours[i])
		fmt.Fprintf(&b, `<text x="%.0f" y="41">%s</text>`+"\n", x+15, a.name)
	}
	for i, w := range r.worlds {
		x := left + group*float64(i)
		for j, a := range agents {
			value, known := f.value(r.tallies[orderKey{w.Name, a.name, true, false}])
			if !known {
				continue
			}
			long := high * value / f.most
			at := x + bar*float64(j)
			fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s: %.2f%s</title></rect>`+"\n",
				at, top+high-long, bar-2, long, colours[j], a.name, value, f.unit)
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" font-size="8" text-anchor="middle">%.0f</text>`+"\n",
				at+bar/2-1, top+high-long-3, value)
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.0f">%s</text>`+"\n", x, top+high+18, w.Name)
	}
	fmt.Fprintf(&b, `<line x1="%.0f" y1="%.0f" x2="%.0f" y2="%.0f" stroke="#333333"/>`+"\n</svg>\n", left, top+high, width-gap/2, top+high)
	return b.Bytes()
}
