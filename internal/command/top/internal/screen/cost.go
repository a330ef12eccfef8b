package screen

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// hoursPerMonth are those for which clouds state prices of a month.
const hoursPerMonth = 730

// costRow is a part of the price of the fleet.
type costRow struct {
	by   string
	name string
	// nodes is -1 for workloads, which have pods instead.
	nodes, pods, unpriced int
	price                 float64
}

// costRows divide the price in each of the ways of the document.
func costRows(c *view.Cost) []costRow {
	var out []costRow
	for _, part := range []struct {
		by     string
		priced []view.Priced
	}{{"nodepool", c.ByNodePool}, {"capacity", c.ByCapacityType}, {"zone", c.ByZone}, {"type", c.ByInstanceType}} {
		for _, p := range part.priced {
			out = append(out, costRow{by: part.by, name: cmp.Or(p.Name, "none"), nodes: p.Nodes, unpriced: p.UnknownPrices, price: p.PricePerHour})
		}
	}
	for _, w := range c.Workloads {
		out = append(out, costRow{by: "workload", name: w.Workload, nodes: -1, pods: w.Pods, price: w.PricePerHour})
	}
	return out
}

func (r costRow) count() string {
	if r.nodes < 0 {
		return counted(r.pods, "pod")
	}
	return counted(r.nodes, "node")
}

// known is the price with a mark if some of it is unknown.
func (r costRow) known(factor float64) string {
	text := dollars(r.price * factor)
	switch {
	case r.unpriced > 0 && r.unpriced == r.nodes:
		return unknown
	case r.unpriced > 0:
		return text + "+" + unknown
	}
	return text
}

// costTable has a row for each part of the price.
func costTable(c *view.Cost, to int) table {
	rows := costRows(c)
	part := func(row int) (float64, bool) {
		return rows[row].price / c.Now.PricePerHour, c.Now.PricePerHour > 0
	}
	byPrice := func(a, b int) int { return cmp.Compare(rows[a].price, rows[b].price) }
	return table{
		notes: costNotes(c, to),
		columns: []column{
			{title: "BY", min: 9, max: 9, cell: func(row int) span { return span{rows[row].by, faint} }},
			{title: "NAME", min: 20, max: 60, cell: func(row int) span { return span{text: rows[row].name} }},
			{
				title: "COUNT", rank: 2, min: 11, max: 11, right: true, largest: true, cell: func(row int) span { return span{text: rows[row].count()} },
				compare: func(a, b int) int {
					return cmp.Compare(max(rows[a].nodes, rows[a].pods), max(rows[b].nodes, rows[b].pods))
				},
			},
			{title: "PRICE/H", rank: 1, min: 10, max: 12, right: true, largest: true, compare: byPrice, cell: func(row int) span { return span{text: rows[row].known(1)} }},
			{
				title: "PRICE/MONTH", rank: 3, min: 12, max: 14, right: true, largest: true, compare: byPrice,
				cell: func(row int) span { return span{text: rows[row].known(hoursPerMonth)} },
			},
			{title: "SHARE", rank: 2, min: barWidth, max: barWidth, largest: true, compare: byPrice, cell: func(row int) span {
				s, known := part(row)
				return span{text: bar(s, known, barWidth)}
			}},
		},
		rows:   len(rows),
		id:     func(row int) string { return rows[row].by + " " + rows[row].name },
		search: func(row int) string { return rows[row].by + "\n" + rows[row].name },
		none:   "There are no nodes that cost anything.",
	}
}

// costNotes are what the document says about the whole fleet.
func costNotes(c *view.Cost, to int) []line {
	out := []line{{{"Now     ", strong}, {text: sum(c.Now.PricePerHour, c.Now.UnknownPrices) + ", " + counted(c.Now.Nodes, "node")}}}
	bound := "not computed"
	if b := c.Bound; b != nil {
		bound = fmt.Sprintf("%s/h if packed anew, at least %s/h by any packing (gap %.1f%%)", dollars(b.Packed), dollars(b.Least), b.GapPercent)
		if b.Unplaced > 0 {
			bound += ", without " + counted(b.Unplaced, "pod") + " that fit nowhere"
		}
	}
	out = append(out, line{{"Needed  ", strong}, {text: bound}})
	var saved []string
	for _, s := range c.Savings {
		text := fmt.Sprintf("%s %s/h now, $%.2f so far", s.Reason, dollars(s.PerHour), s.Dollars)
		if s.Unpriced > 0 {
			text += fmt.Sprintf(" (%d of %d not priced)", s.Unpriced, s.Commands)
		}
		saved = append(saved, text)
	}
	out = append(out, line{{"Saved   ", strong}, {text: cmp.Or(strings.Join(saved, "; "), "nothing on record")}})
	return append(out, line{{"Trend   ", strong}, {text: trend(c, to-8)}})
}

// trend draws the price over time in one line, from the lowest to the highest.
func trend(c *view.Cost, to int) string {
	if len(c.Series) < 2 {
		return "no records of earlier prices"
	}
	first, last := c.Series[0], c.Series[len(c.Series)-1]
	low, high := first.PricePerHour, first.PricePerHour
	for _, p := range c.Series {
		low, high = min(low, p.PricePerHour), max(high, p.PricePerHour)
	}
	label := fmt.Sprintf(" %s to %s in %s", dollars(low), dollars(high), age(last.At.Sub(first.At)))
	const levels = "_.-=+*#"
	marks, n := make([]byte, max(min(to-len(label), 60), 1)), 0
	period := last.At.Sub(first.At)
	for i := range marks {
		at := first.At
		if len(marks) > 1 {
			at = at.Add(period / 1000 * (1000 * time.Duration(i) / time.Duration(len(marks)-1)))
		}
		for n+1 < len(c.Series) && !c.Series[n+1].At.After(at) {
			n++
		}
		level := 0
		if high > low {
			level = int((c.Series[n].PricePerHour - low) / (high - low) * float64(len(levels)-1))
		}
		marks[i] = levels[level]
	}
	return string(marks) + label
}

// workloadPage has what is known about the cost of one workload.
func (w writer) workloadPage(r costRow, unknown []string) []line {
	return append([]line{
		w.fact("Workload", r.name),
		w.fact("Pods", strconv.Itoa(r.pods)),
		w.fact("Price", dollars(r.price)+"/h, "+dollars(r.price*hoursPerMonth)+" in a month"),
		nil,
		say(faint, "Each pod bears its share of the price of its node, unused capacity included."),
	}, w.unknownLines(unknown)...)
}
