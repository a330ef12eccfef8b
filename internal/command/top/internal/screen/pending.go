package screen

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/internal/explain"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// pendingRow is a group of pods, or a node that is launched for pods.
type pendingRow struct {
	state         string
	role          role
	pods          int
	oldest        time.Time
	who, why, all string
	group         *view.PendingGroup
	planned       *view.PlannedNode
}

// pendingRows are the groups first, then the nodes that are launched for them.
func pendingRows(p *view.Pending) []pendingRow {
	out := make([]pendingRow, 0, len(p.Groups)+len(p.Planned))
	for i := range p.Groups {
		g := &p.Groups[i]
		out = append(out, pendingRow{
			state: strings.ToLower(string(g.State)), role: pendingRole(g.State), pods: len(g.Pods), oldest: g.Oldest,
			who: listed(workloadsOf(g), len(workloadsOf(g)), 1), why: groupWhy(g), group: g,
			all: strings.Join(g.Pods, "\n") + "\n" + strings.Join(g.Workloads, "\n"),
		})
	}
	for i := range p.Planned {
		n := &p.Planned[i]
		state := "launching"
		if n.NodeClaim == "" {
			state = "to launch"
		}
		why := listed(n.InstanceTypes.First, n.InstanceTypes.Count, 1) + ", " + knownDollars(n.PricePerHour) + "/h"
		if n.Pods.Count > 0 {
			why += ", for " + listed(n.Pods.First, n.Pods.Count, 1)
		}
		out = append(out, pendingRow{
			state: state, role: good, pods: n.Pods.Count, who: cmp.Or(n.NodeClaim, "node of "+n.NodePool), why: why, planned: n,
			all: n.NodePool + "\n" + strings.Join(n.InstanceTypes.First, "\n") + "\n" + strings.Join(n.Pods.First, "\n"),
		})
	}
	return out
}

// workloadsOf are the workloads of a group, or its pods if none is known.
func workloadsOf(g *view.PendingGroup) []string {
	if len(g.Workloads) > 0 {
		return g.Workloads
	}
	return g.Pods
}

func pendingRole(s explain.State) role {
	switch s {
	case explain.Refused:
		return bad
	case explain.Idle:
		return faint
	case explain.Nominated:
		return good
	}
	return warn
}

// groupWhy is why the pods of a group wait, in a few words: the reason of the nearest NodePool.
func groupWhy(g *view.PendingGroup) string {
	f := g.Fate
	switch {
	case len(f.Reasons) > 0:
		text := f.Reasons[0].Message
		if f.Reasons[0].NodePool != "" {
			text = f.Reasons[0].NodePool + ": " + text
		}
		if n := len(f.Reasons) - 1; n > 0 {
			text += fmt.Sprintf(" (and %d more)", n)
		}
		return text
	case f.Launch != nil:
		return fmt.Sprintf("would launch %s from %s, %s/h", f.Launch.InstanceType, f.Launch.NodePool, dollars(f.Launch.PricePerHour))
	case f.Placement != nil:
		text := "fits on " + cmp.Or(f.Placement.Node, f.Placement.NodeClaim)
		if f.Waits != "" {
			text += ": " + f.Waits
		}
		return text
	case f.Message != "":
		return f.Message
	case len(f.UnusedPools) > 0:
		return f.UnusedPools[0].Name + ": " + f.UnusedPools[0].Message
	}
	return "no reason known"
}

// pendingTable has a row for each group of pods, and for each planned node.
func pendingTable(p *view.Pending) table {
	rows := pendingRows(p)
	return table{
		columns: []column{
			{title: "STATE", min: 10, max: 10, cell: func(row int) span { return span{rows[row].state, rows[row].role} }},
			{
				title: "PODS", rank: 1, min: 5, max: 5, right: true, largest: true, cell: func(row int) span { return span{text: strconv.Itoa(rows[row].pods)} },
				compare: func(a, b int) int { return cmp.Compare(rows[a].pods, rows[b].pods) },
			},
			{title: "AGE", rank: 1, min: 5, max: 5, right: true, largest: true, cell: func(row int) span {
				if rows[row].group == nil {
					return span{}
				}
				return span{text: since(rows[row].oldest, p.At)}
			}, compare: func(a, b int) int { return rows[b].oldest.Compare(rows[a].oldest) }},
			{title: "WHO", rank: 0, min: 22, max: 46, cell: func(row int) span { return span{text: rows[row].who} }},
			{title: "WHY", rank: 1, min: 20, cell: func(row int) span { return span{text: rows[row].why} }},
		},
		rows: len(rows),
		id: func(row int) string {
			if g := rows[row].group; g != nil && len(g.Pods) > 0 {
				return "pod " + g.Pods[0]
			}
			return rows[row].who + " " + rows[row].why
		},
		search: func(row int) string {
			r := rows[row]
			return strings.Join([]string{r.state, r.who, r.why, r.all}, "\n")
		},
		none: "No pod waits for a node.",
	}
}

// pendingPage has all that is known about a group of pods, or about a planned node.
func (w writer) pendingPage(r pendingRow, unknown []string) []line {
	if n := r.planned; n != nil {
		return w.plannedPage(n, unknown)
	}
	g := r.group
	out := []line{
		w.fact("State", r.state),
		w.fact("Oldest", w.moment(g.Oldest)),
		section("Why " + g.Pods[0] + " waits"),
	}
	text := g.Fate.Text("  ")
	if text == "" {
		text = "  Nothing is to be done for it"
	}
	out = append(out, w.prose(text)...)
	out = append(out, section(fmt.Sprintf("Workloads (%d)", len(g.Workloads))))
	for _, w := range g.Workloads {
		out = append(out, line{{text: "  " + w}})
	}
	out = append(out, section(fmt.Sprintf("Pods (%d)", len(g.Pods))))
	for _, p := range g.Pods {
		out = append(out, line{{text: "  " + p}})
	}
	return append(out, w.unknownLines(unknown)...)
}

func (w writer) plannedPage(n *view.PlannedNode, unknown []string) []line {
	what := "none yet: the node would be launched"
	out := []line{
		w.fact("NodeClaim", cmp.Or(n.NodeClaim, what)),
		w.fact("NodePool", n.NodePool),
		w.fact("Price", knownDollars(n.PricePerHour)+"/h, that of the first instance type"),
		section(fmt.Sprintf("Instance types (%d)", n.InstanceTypes.Count)),
	}
	out = append(out, w.prose("  "+listed(n.InstanceTypes.First, n.InstanceTypes.Count, len(n.InstanceTypes.First)))...)
	out = append(out, section(fmt.Sprintf("Pods (%d)", n.Pods.Count)))
	for _, p := range n.Pods.First {
		out = append(out, line{{text: "  " + p}})
	}
	if rest := n.Pods.Count - len(n.Pods.First); rest > 0 {
		out = append(out, say(faint, fmt.Sprintf("  and %d more, which the document does not name", rest)))
	}
	return append(out, w.unknownLines(unknown)...)
}
