package screen

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/karpenter-anew/karpenter/api/quantity"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// poolsTable has a row for each NodePool.
func poolsTable(v *view.Pools) table {
	pools := v.Pools
	number := func(title string, rank, least int, of func(view.Pool) int) column {
		return column{
			title: title, rank: rank, min: least, max: least, right: true, largest: true,
			cell:    func(row int) span { return span{text: strconv.Itoa(of(pools[row]))} },
			compare: func(a, b int) int { return cmp.Compare(of(pools[a]), of(pools[b])) },
		}
	}
	text := func(title string, rank, least, most int, of func(view.Pool) string) column {
		return column{title: title, rank: rank, min: least, max: most, cell: func(row int) span { return span{text: of(pools[row])} }}
	}
	limit := func(title, name string) column {
		c := text(title, 2, barWidth, barWidth, nil)
		c.largest = true
		c.cell = func(row int) span { return span{text: limitBar(pools[row], name)} }
		c.compare = func(a, b int) int { return cmp.Compare(limitShare(pools[a], name), limitShare(pools[b], name)) }
		return c
	}
	price := text("PRICE/H", 1, 10, 12, poolPrice)
	price.right, price.largest = true, true
	price.compare = func(a, b int) int { return compareKnown(pools[a].PricePerHour, pools[b].PricePerHour) }
	launches := text("LAUNCHES", 1, 9, 9, nil)
	launches.cell = func(row int) span {
		if pools[row].Launches {
			return span{"yes", good}
		}
		return span{"no", bad}
	}
	return table{
		columns: []column{
			text("NODEPOOL", 0, 14, 30, func(p view.Pool) string { return p.Name }),
			launches,
			number("NODES", 1, 6, func(p view.Pool) int { return p.Nodes }),
			price,
			limit("CPU/LIMIT", "cpu"),
			limit("MEM/LIMIT", "memory"),
			number("DRIFTED", 3, 8, func(p view.Pool) int { return p.Drifted }),
			number("ICE", 3, 4, func(p view.Pool) int { return p.UnavailableCount }),
			number("WEIGHT", 4, 7, func(p view.Pool) int { return int(p.Weight) }),
			text("NODECLASS", 5, 12, 24, func(p view.Pool) string { return p.NodeClass }),
			text("STATUS", 1, 14, 0, poolStatus),
		},
		rows: len(pools),
		id:   func(row int) string { return pools[row].Name },
		search: func(row int) string {
			return pools[row].Name + "\n" + pools[row].NodeClass + "\n" + poolStatus(pools[row])
		},
		none: "There are no NodePools.",
	}
}

func poolPrice(p view.Pool) string {
	text := knownDollars(p.PricePerHour)
	if p.UnpricedNodes > 0 && p.PricePerHour != nil {
		text += "+" + unknown
	}
	return text
}

// limitShare is the part of a limit that is used, -1 without a limit.
func limitShare(p view.Pool, name string) float64 {
	for _, u := range p.Usage {
		if u.Resource != name || u.Limit == "" {
			continue
		}
		used, err1 := quantity.Parse(u.Used)
		limit, err2 := quantity.Parse(u.Limit)
		if err1 == nil && err2 == nil && limit.AsApproximateFloat64() > 0 {
			return used.AsApproximateFloat64() / limit.AsApproximateFloat64()
		}
	}
	return -1
}

func limitBar(p view.Pool, name string) string {
	s := limitShare(p, name)
	if s < 0 {
		return "no limit"
	}
	return bar(s, true, barWidth)
}

// poolStatus is why the pool launches nothing, or how many nodes may be disrupted now.
func poolStatus(p view.Pool) string {
	if !p.Launches {
		return p.Message
	}
	var parts []string
	for _, o := range p.Disruption {
		if o.Now > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", o.Reason, o.Now))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "to disrupt: " + strings.Join(parts, ", ")
}

// poolPage has all that is known about a NodePool.
func (w writer) poolPage(p view.Pool, unknown []string) []line {
	out := append([]line{
		w.fact("NodeClass", p.NodeClass),
		w.fact("Weight", strconv.Itoa(int(p.Weight))),
		w.fact("Drifted", counted(p.Drifted, "node")),
		section("What it does"),
	}, w.prose(p.Text())...)
	out = append(out, section("Conditions"))
	for _, c := range p.Conditions {
		text := fmt.Sprintf("  %s is %s since %s", c.Type, c.Status, w.moment(c.Since))
		if about := strings.TrimSpace(c.Reason + " " + c.Message); about != "" {
			text += ": " + about
		}
		out = append(out, w.prose(text)...)
	}
	out = append(out, section(fmt.Sprintf("Offerings that cannot be launched (%d)", p.UnavailableCount)))
	for _, o := range p.Unavailable {
		text := fmt.Sprintf("  %s %s %s", o.InstanceType, o.CapacityType, o.Zone)
		if o.Until != nil {
			text += ", until " + w.moment(*o.Until)
		}
		if o.Why != "" {
			text += ": " + o.Why
		}
		out = append(out, w.prose(text)...)
	}
	if rest := p.UnavailableCount - len(p.Unavailable); rest > 0 {
		out = append(out, say(faint, fmt.Sprintf("  and %d more, which the document does not name", rest)))
	}
	return append(out, w.unknownLines(unknown)...)
}
