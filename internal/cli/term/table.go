package term

import (
	"cmp"
	"io"
	"strings"
	"text/tabwriter"
)

// A Table prints text in columns.
type Table struct{ w *tabwriter.Writer }

// NewTable begins a table with a heading, if there is one.
func NewTable(out io.Writer, heading ...string) Table {
	t := Table{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	if len(heading) > 0 {
		t.Row(heading...)
	}
	return t
}

// Row adds a row. Each cell stays within its line and column, whatever a server has put in: what is said in the next row is not its own.
func (t Table) Row(cells ...string) {
	shown := make([]string, len(cells))
	for i, cell := range cells {
		shown[i] = cmp.Or(strings.Join(strings.Fields(cell), " "), "-")
	}
	Printf(t.w, "%s\n", strings.Join(shown, "\t"))
}

// Flush prints the table: the columns are as wide as their widest cell.
func (t Table) Flush() error { return t.w.Flush() }
