package screen

import (
	"cmp"
	"slices"
	"strings"
)

// column is one column of a table.
type column struct {
	title string
	// min and max are the widths between which the column adapts to its contents and to the screen; 0 as max is any width.
	min, max int
	right    bool
	// rank decides which columns a narrow screen shows: those of the lowest ranks.
	rank int
	// cell is the contents of a row.
	cell func(row int) span
	// compare orders rows; nil orders by text. Largest sets that the first order is descending.
	compare func(a, b int) int
	largest bool
}

// table has the rows of a view in the order of its document.
type table struct {
	columns []column
	rows    int
	// id identifies a row beyond the document, search is the text in which a filter searches.
	id     func(row int) string
	search func(row int) string
	// notes are lines above the table, none is what is shown instead of rows.
	notes []line
	none  string
}

// list is what the user has chosen in a table: it survives new documents.
type list struct {
	// id is the row with the cursor, at is its position among the rows that are shown, first that of the first row on the screen.
	id        string
	at, first int
	// sort is the title of the column by which rows are ordered; empty for the order of the document. reversed reverses the order.
	sort     string
	reversed bool
	filter   string
}

// listing is a table with the choices of the user applied.
type listing struct {
	table
	// order are the rows that are shown.
	order []int
	// widths are those of the contents, by column.
	widths []int
}

// arrange applies the choices to a table, and moves the cursor to where its row is now.
func (l *list) arrange(t table) listing {
	out := listing{table: t, order: make([]int, 0, t.rows), widths: t.contents()}
	terms := strings.Fields(strings.ToLower(l.filter))
	for row := range t.rows {
		if len(terms) == 0 || matches(strings.ToLower(t.search(row)), terms) {
			out.order = append(out.order, row)
		}
	}
	out.sort(*l)
	if l.at = slices.IndexFunc(out.order, func(row int) bool { return t.id(row) == l.id }); l.at < 0 {
		l.at = 0
	}
	l.move(&out, 0)
	return out
}

// contents measures the columns whose width depends on their contents.
func (t table) contents() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = max(c.min, width(c.title)+1)
		if c.min == c.max {
			widths[i] = c.min
			continue
		}
		for row := range t.rows {
			if c.max > 0 && widths[i] >= c.max {
				break
			}
			widths[i] = max(widths[i], width(c.cell(row).text))
		}
		if c.max > 0 {
			widths[i] = min(widths[i], c.max)
		}
	}
	return widths
}

// matches reports whether a text has all terms, and none of those that begin with "!".
func matches(text string, terms []string) bool {
	for _, term := range terms {
		word, not := strings.CutPrefix(term, "!")
		if word != "" && strings.Contains(text, word) == not {
			return false
		}
	}
	return true
}

// sort orders the rows by the chosen column.
func (l *listing) sort(by list) {
	i := slices.IndexFunc(l.columns, func(c column) bool { return c.title == by.sort })
	if i >= 0 {
		c := l.columns[i]
		compare := c.compare
		if compare == nil {
			compare = func(a, b int) int { return cmp.Compare(c.cell(a).text, c.cell(b).text) }
		}
		slices.SortStableFunc(l.order, func(a, b int) int {
			if c.largest {
				return compare(b, a)
			}
			return compare(a, b)
		})
	}
	if by.reversed {
		slices.Reverse(l.order)
	}
}

// move moves the cursor by some rows, to the first or last at most.
func (l *list) move(shown *listing, by int) {
	l.at = max(min(l.at+by, len(shown.order)-1), 0)
	l.id = ""
	if len(shown.order) > 0 {
		l.id = shown.id(shown.order[l.at])
	}
}

// scroll makes the row with the cursor visible on a screen of some rows.
func (l *list) scroll(shown *listing, rows int) {
	l.first = max(min(l.first, l.at, len(shown.order)-rows), l.at-rows+1, 0)
}

// next is the column by which rows are ordered after the current one: those on the screen in their order, then the order of the document.
func (l *list) next(visible []column) {
	i := slices.IndexFunc(visible, func(c column) bool { return c.title == l.sort })
	l.sort, l.reversed = "", false
	if i+1 < len(visible) {
		l.sort = visible[i+1].title
	}
}

// placed is a column on the screen.
type placed struct {
	column
	width int
}

// layout chooses columns for a width, and returns how many are left out.
func (l *listing) layout(to int) (shown []placed, hidden int) {
	gap, spare := 1, to-cursorWidth
	if to >= 120 {
		gap = 2
	}
	byRank := make([]int, len(l.columns))
	for i := range byRank {
		byRank[i] = i
	}
	slices.SortStableFunc(byRank, func(a, b int) int { return cmp.Compare(l.columns[a].rank, l.columns[b].rank) })
	widths := make([]int, len(l.columns))
	for n, i := range byRank {
		need := l.columns[i].min + gap
		if need > spare+gap && n > 0 {
			break // the columns of higher ranks are left out as well, or they would come and go
		}
		widths[i] = min(l.columns[i].min, max(spare, 1))
		spare -= need
	}
	for _, i := range byRank {
		if widths[i] > 0 && spare > 0 {
			grow := min(max(l.widths[i]-widths[i], 0), spare)
			widths[i], spare = widths[i]+grow, spare-grow
		}
	}
	for i, c := range l.columns {
		if widths[i] == 0 {
			hidden++
			continue
		}
		shown = append(shown, placed{c, widths[i] + gap})
	}
	return shown, hidden
}

// cursorWidth is the width of the mark of the row with the cursor.
const cursorWidth = 2

// header are the titles of columns, with a mark at the one by which rows are ordered.
func header(columns []placed, by list) line {
	out := line{{"  ", strong}}
	for _, c := range columns {
		title := c.title
		if c.title == by.sort {
			mark := "^"
			if c.largest != by.reversed {
				mark = "v"
			}
			title = shorten(title, c.width-2) + mark
		}
		out = append(out, c.place(span{title, strong})...)
	}
	return out
}

// place fills the width of a column with text, and the gap after it.
func (c placed) place(s span) line {
	body := c.width
	// the gap is at least one column wide
	return line{{pad(s.text, body-1, c.right) + " ", s.role}}
}

// row draws one row; under is set for the row with the cursor.
func (l *listing) row(columns []placed, row int, under bool) line {
	out := line{{"  ", plain}}
	if under {
		out[0].text = "> "
	}
	for _, c := range columns {
		out = append(out, c.place(c.cell(row))...)
	}
	if !under {
		return out
	}
	text := ""
	for _, s := range out {
		text += s.text
	}
	return say(chosen, text)
}
