package explain

import (
	"fmt"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// Text implements Answer.
func (a NodePool) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "NodePool %s has %s%s, %s\n", a.Name, counted(a.Nodes, "node"), a.replicas(), a.price())
	if a.Launches {
		b.WriteString("  Nodes can be launched from it\n")
	} else {
		b.WriteString("  No nodes are launched from it for pods: " + a.Message + "\n")
		if a.Help != "" {
			b.WriteString("    what would help: " + a.Help + "\n")
		}
	}
	if a.MissingNodes > 0 {
		fmt.Fprintf(&b, "  Missing replicas: %d; nodes for them are launched while the NodePool is ready and limits.nodes allows it\n", a.MissingNodes)
	}
	for _, u := range a.Usage {
		limit := "no limit"
		if u.Limit != "" {
			limit = "limit " + u.Limit
		}
		fmt.Fprintf(&b, "  %s: %s used, %s\n", u.Resource, u.Used, limit)
	}
	for _, budget := range a.Budgets {
		b.WriteString("  Budget of " + budget.text() + "\n")
	}
	for _, d := range a.Disrupting {
		b.WriteString("  Node " + d.Node + " counts against the budgets: " + d.Why + "\n")
	}
	for _, t := range a.Excluded {
		t.write(&b, "  ", "not disrupted: ")
	}
	for i, o := range a.Disruption {
		if a.Nodes == 0 {
			break
		}
		done := "removed"
		if o.Reason == string(disrupt.Unhealthy) {
			done = "repaired"
		}
		approval := ""
		if o.NeedApproval > 0 {
			approval = fmt.Sprintf(", %d only once a person approves", o.NeedApproval)
		}
		fmt.Fprintf(&b, "  %s: %d could be %s, %d now%s (%s)\n", o.Reason, o.Possible, done, o.Now, approval, a.Allowances[i].text())
		for _, t := range o.Others {
			label := "no: "
			if t.Wanted {
				label = "blocked: "
			}
			t.write(&b, "    ", label)
		}
	}
	return b.String()
}

// replicas is how many nodes a static NodePool asks for.
func (a NodePool) replicas() string {
	if a.Replicas == nil {
		return ""
	}
	return fmt.Sprintf(" of %d replicas", *a.Replicas)
}

// price is what the nodes cost together, as far as that is known.
func (a NodePool) price() string {
	switch {
	case a.PricePerHour == nil:
		return "price unknown"
	case a.UnpricedNodes == 1:
		return fmt.Sprintf("at least $%.4f/h (the price of 1 node is unknown)", *a.PricePerHour)
	case a.UnpricedNodes > 1:
		return fmt.Sprintf("at least $%.4f/h (the prices of %d nodes are unknown)", *a.PricePerHour, a.UnpricedNodes)
	}
	return fmt.Sprintf("$%.4f/h", *a.PricePerHour)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shownNodes is how many nodes a line names.
const shownNodes = 3

func (t Tally) write(b *strings.Builder, before, label string) {
	names := strings.Join(t.Nodes[:min(shownNodes, len(t.Nodes))], ", ")
	if len(t.Nodes) > shownNodes {
		names += ", ..."
	}
	what := t.Code
	if t.Count == 1 {
		what = t.Message
	}
	fmt.Fprintf(b, "%s%s %s%s (%s)\n", before, counted(t.Count, "node"), label, what, names)
	b.WriteString(before + "  what would help: " + t.Help + "\n")
}
