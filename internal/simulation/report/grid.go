package report

import (
	"strings"
	"unicode/utf8"
)

// indent is the prefix of lines below a heading.
const indent = "  "

// grid is rows whose columns line up. The last column is wrapped at wrapWidth.
type grid struct{ rows []gridRow }

// gridRow is cells, and lines below them that do not take part in the columns.
type gridRow struct {
	cells   []string
	details []string
}

// wrapWidth is how many characters of a list go on one line.
const wrapWidth = 60

func (g *grid) add(details []string, cells ...string) {
	g.rows = append(g.rows, gridRow{cells, details})
}

// write renders the rows, with details below the second column.
func (g *grid) write(b *strings.Builder) {
	widths := g.widths()
	for _, row := range g.rows {
		last := len(row.cells) - 1
		offset := len(indent)
		b.WriteString(indent)
		for i, cell := range row.cells[:last] {
			b.WriteString(cell)
			gap := widths[i] - utf8.RuneCountInString(cell) + 2
			b.WriteString(strings.Repeat(" ", gap))
			offset += widths[i] + 2
		}
		for i, line := range wrap(row.cells[last]) {
			if i > 0 {
				b.WriteString(strings.Repeat(" ", offset))
			}
			b.WriteString(line + "\n")
		}
		for _, detail := range row.details {
			b.WriteString(indent + strings.Repeat(" ", widths[0]+2) + detail + "\n")
		}
	}
}

func (g *grid) widths() []int {
	var widths []int
	for _, row := range g.rows {
		for i, cell := range row.cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// wrap breaks a comma-separated list into lines.
func wrap(list string) []string {
	lines := []string{""}
	for i, item := range strings.Split(list, ", ") {
		line := &lines[len(lines)-1]
		switch {
		case i == 0:
			*line = item
		case utf8.RuneCountInString(*line)+utf8.RuneCountInString(item)+2 > wrapWidth:
			*line += ","
			lines = append(lines, item)
		default:
			*line += ", " + item
		}
	}
	return lines
}
