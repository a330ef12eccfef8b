package screen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// barWidth is the width of the bars of a table.
const barWidth = 10

// fleetTable has a row for each node.
func fleetTable(f *view.Fleet) table {
	nodes, short := f.Nodes, shortNames(f.Nodes)
	text := func(title string, rank, least, most int, of func(view.Node) string) column {
		return column{title: title, rank: rank, min: least, max: most, cell: func(row int) span { return span{text: of(nodes[row])} }}
	}
	share := func(title string, of func(view.Amounts) int64) column {
		return column{title: title, rank: 1, min: barWidth, max: barWidth, largest: true, cell: func(row int) span {
			s, known := share(of, nodes[row].Requested, nodes[row].Allocatable)
			return span{bar(s, known, barWidth), fullness(s, known)}
		}, compare: func(a, b int) int { return cmp.Compare(nodeShare(of, nodes[a]), nodeShare(of, nodes[b])) }}
	}
	name := text("NAME", 0, 17, 0, nil)
	name.cell = func(row int) span { return span{text: short[row]} }
	return table{
		columns: []column{
			name,
			text("NODEPOOL", 2, 9, 20, func(n view.Node) string { return n.NodePool }),
			text("TYPE", 3, 11, 24, func(n view.Node) string { return n.InstanceType }),
			text("ZONE", 5, 10, 18, func(n view.Node) string { return n.Zone }),
			text("CAPACITY", 6, 9, 12, func(n view.Node) string { return n.CapacityType }),
			{title: "STATE", rank: 0, min: 10, max: 10, cell: func(row int) span { return span{string(nodes[row].State), stateRole(nodes[row].State)} }},
			share("CPU", cpuOf),
			share("MEMORY", memoryOf),
			{
				title: "PODS", rank: 4, min: 7, max: 9, right: true, largest: true, cell: func(row int) span { return span{text: podsOf(nodes[row])} },
				compare: func(a, b int) int { return cmp.Compare(requestedPods(nodes[a]), requestedPods(nodes[b])) },
			},
			{
				title: "PRICE/H", rank: 1, min: 8, max: 8, right: true, largest: true, cell: func(row int) span { return span{text: knownDollars(nodes[row].PricePerHour)} },
				compare: func(a, b int) int { return compareKnown(nodes[a].PricePerHour, nodes[b].PricePerHour) },
			},
			{
				title: "AGE", rank: 4, min: 5, max: 5, right: true, cell: func(row int) span { return span{text: since(nodes[row].Created, f.At)} },
				compare: func(a, b int) int { return nodes[b].Created.Compare(nodes[a].Created) },
			},
			text("REASON", 1, 16, 0, why),
		},
		rows:   len(nodes),
		id:     func(row int) string { return nodeID(nodes[row]) },
		search: func(row int) string { return searchNode(nodes[row]) },
		none:   "There are no nodes.",
	}
}

// nodeID identifies a node also before and after its Node exists.
func nodeID(n view.Node) string { return cmp.Or(n.NodeClaim, n.Name) }

// shortNames leaves out what all names have after the first dot, as names of AWS do, unless two become equal.
func shortNames(nodes []view.Node) []string {
	short, seen := make([]string, len(nodes)), make(map[string]bool, len(nodes))
	for i, n := range nodes {
		short[i], _, _ = strings.Cut(n.Name, ".")
		if seen[short[i]] {
			for i, n := range nodes {
				short[i] = n.Name
			}
			return short
		}
		seen[short[i]] = true
	}
	return short
}

// why is what there is to disrupt a node for, and what prevents it.
func why(n view.Node) string {
	switch {
	case n.Reason == "":
		return n.Obstacle
	case n.Obstacle == "":
		return n.Reason
	}
	return n.Reason + ": " + n.Obstacle
}

func stateRole(s view.State) role {
	switch s {
	case view.Launching, view.Starting, view.Blocked:
		return warn
	case view.NotReady:
		return bad
	case view.Disrupting, view.Draining:
		return strong
	}
	return good
}

// nodeShare orders nodes by a share: unknown ones are the least.
func nodeShare(of func(view.Amounts) int64, n view.Node) float64 {
	s, known := share(of, n.Requested, n.Allocatable)
	if !known {
		return -1
	}
	return s
}

func requestedPods(n view.Node) int64 {
	if n.Requested == nil {
		return -1
	}
	return n.Requested.Pods
}

func podsOf(n view.Node) string {
	used := unknown
	if n.Requested != nil {
		used = strconv.FormatInt(n.Requested.Pods, 10)
	}
	return used + "/" + strconv.FormatInt(n.Allocatable.Pods, 10)
}

// compareKnown orders values of which some are unknown: these are the least.
func compareKnown(a, b *float64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Compare(*a, *b)
}

// searchNode is the text in which a filter searches: what is shown, and the labels.
func searchNode(n view.Node) string {
	var b strings.Builder
	for _, part := range []string{n.Name, n.NodeClaim, n.NodePool, n.InstanceType, n.Zone, n.CapacityType, string(n.State), n.Reason, n.Obstacle} {
		b.WriteString(part)
		b.WriteByte('\n')
	}
	for key, value := range n.Labels {
		b.WriteString(key + "=" + value + "\n")
	}
	return b.String()
}

// nodePage has all that is known about a node. d is null until the details are there.
func (w writer) nodePage(n view.Node, d *view.NodeDetail) []line {
	out := []line{
		w.fact("NodePool", cmp.Or(n.NodePool, "none: not managed by Karpenter")),
		w.fact("NodeClaim", cmp.Or(n.NodeClaim, "none")),
		w.fact("Instance", strings.TrimSpace(fmt.Sprintf("%s %s %s", cmp.Or(n.InstanceType, "not launched"), n.CapacityType, n.Zone))),
		w.fact("State", string(n.State)+", created "+w.moment(n.Created)),
		w.fact("Price", knownDollars(n.PricePerHour)+"/h"),
		w.fullFact("CPU", cpuOf, cores, n.Requested, n.Allocatable),
		w.fullFact("Memory", memoryOf, binary, n.Requested, n.Allocatable),
		w.fact("Pods", podsOf(n)),
	}
	if text := why(n); text != "" {
		out = append(out, w.fact("Disruption", text))
	}
	if d == nil {
		return append(out, nil, say(faint, "Reading its pods, decisions and life ..."))
	}
	out = append(out, w.whyHere(d)...)
	out = append(out, section("Why it is removed or not"))
	if d.Explanation == nil {
		out = append(out, say(faint, "  Not known: "+notExplained(d)))
	} else {
		out = append(out, w.prose(d.Explanation.Text())...)
	}
	out = append(out, w.podLines(d)...)
	out = append(out, w.life(d)...)
	out = append(out, section("Labels"))
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		out = append(out, w.prose("  "+key+"="+n.Labels[key])...)
	}
	return append(out, w.unknownLines(d.Unknown)...)
}

// notExplained is why there is no explanation.
func notExplained(d *view.NodeDetail) string {
	switch {
	case d.Past:
		return "the ledger does not have what the engine needs for it"
	case d.NodeClaim == "":
		return "Karpenter does not manage the node"
	}
	return "no answer of the engine"
}

func (w writer) whyHere(d *view.NodeDetail) []line {
	out := []line{section("Why it is here")}
	if d.Why == nil {
		return append(out, say(faint, "  Not known: the ledger has no record of its creation"))
	}
	text := "  Created " + w.moment(d.Why.At) + ", reason " + d.Why.Reason
	if d.Why.Command != "" {
		text += ", disruption command " + d.Why.Command
	}
	if d.Why.Pods.Count > 0 {
		text += ", for " + counted(d.Why.Pods.Count, "pod") + ": " + listed(d.Why.Pods.First, d.Why.Pods.Count, len(d.Why.Pods.First))
	}
	return append(out, w.prose(text)...)
}

func (w writer) podLines(d *view.NodeDetail) []line {
	out := []line{section(fmt.Sprintf("Pods (%d)", len(d.Pods)))}
	if len(d.Pods) == 0 {
		text := "  None"
		if d.Past {
			text = "  Not known: the ledger does not have pods"
		}
		return append(out, say(faint, text))
	}
	out = append(out, say(strong, "  "+pad("CPU", 7, true)+pad("MEMORY", 8, true)+pad("AGE", 6, true)+"  POD"))
	for _, p := range d.Pods {
		text := "  " + pad(cores(p.Requests.CPU), 7, true) + pad(binary(p.Requests.Memory), 8, true) + pad(since(p.Created, d.At), 6, true) +
			"  " + p.Namespace + "/" + p.Name
		switch {
		case p.Daemon:
			text += " (DaemonSet)"
		case p.Workload != "":
			text += " (" + p.Workload + ")"
		}
		out = append(out, line{{text: text}})
	}
	return out
}

func (w writer) life(d *view.NodeDetail) []line {
	out := []line{section("Life")}
	if len(d.Life) == 0 {
		return append(out, say(faint, "  Not known: no records of the ledger about it"))
	}
	for _, r := range d.Life {
		out = append(out, w.prose("  "+w.moment(r.Time)+"  "+r.Summary())...)
	}
	return out
}
