package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// How many entries lists of tables have at most.
const (
	shownCommands  = 20
	shownWorkloads = 10
	shownNodes     = 5
)

// Text is the diff as text: a sentence, a table, and what is in the way.
func (d Diff) Text() string {
	var b strings.Builder
	for _, e := range d.Edited {
		name := e.Name
		if e.Namespace != "" {
			name = e.Namespace + "/" + e.Name
		}
		fmt.Fprintf(&b, "%s %q: %s\n", e.Kind, name, e.Change)
	}
	b.WriteString("\n" + d.summary() + "\n\n")
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	row := func(label string, cells ...string) {
		_, _ = fmt.Fprintf(t, "%-22s\t%s\t\n", label, strings.Join(cells, "\t")) // a Builder never fails
	}
	row("", "NOW", "WITHOUT THE EDIT", "WITH THE EDIT")
	was, is := d.Without, d.With
	row("nodes", fmt.Sprint(was.Now.Nodes), fmt.Sprint(was.After.Nodes), fmt.Sprint(is.After.Nodes))
	row("price per hour", was.Now.price(), was.After.price(), is.After.price())
	for _, line := range []struct {
		label string
		of    func(Forecast) int
	}{
		{"nodes drifted", func(f Forecast) int { return f.Drifted }},
		{"nodes removed", func(f Forecast) int { return f.Removed }},
		{"nodes launched", func(f Forecast) int { return f.Launched }},
		{"pods moved", func(f Forecast) int { return f.Moved }},
		{"nodes blocked", func(f Forecast) int { return len(f.Blocked) }},
		{"pods unschedulable", func(f Forecast) int { return f.Unschedulable }},
	} {
		row(line.label, "", fmt.Sprint(line.of(was)), fmt.Sprint(line.of(is)))
	}
	if was.WaitingForNodes+is.WaitingForNodes > 0 {
		row("pods waiting for nodes", "", fmt.Sprint(was.WaitingForNodes), fmt.Sprint(is.WaitingForNodes))
	}
	row("done after", "", was.length(), is.length())
	if was.toApprove()+is.toApprove() > 0 {
		row("nodes to approve", "", fmt.Sprint(was.toApprove()), fmt.Sprint(is.toApprove()))
	}
	_ = t.Flush() // a Builder never fails
	b.WriteString("\n" + is.details(d.Notes))
	return b.String()
}

// summary is the diff in one sentence.
func (d Diff) summary() string {
	was, is := d.Without, d.With
	var parts []string
	if n := is.Drifted - was.Drifted; n > 0 {
		parts = append(parts, "drifts "+counted(n, "node"))
	} else if n < 0 {
		parts = append(parts, "ends the drift of "+counted(-n, "node"))
	}
	switch {
	case is.Removed > 0 && is.Launched > 0:
		parts = append(parts, fmt.Sprintf("removes %s and launches %d", counted(is.Removed, "node"), is.Launched))
	case is.Removed > 0:
		parts = append(parts, "removes "+counted(is.Removed, "node"))
	case is.Launched > 0:
		parts = append(parts, "launches "+counted(is.Launched, "node"))
	}
	if is.Moved > 0 {
		about := "about "
		if is.Incomplete != "" {
			about = ""
		}
		parts = append(parts, fmt.Sprintf("moves %s in %s%s", counted(is.Moved, "pod"), about, is.length()))
	}
	if len(parts) == 0 {
		parts = append(parts, "disrupts no node")
	}
	text := "With this edit, Karpenter " + strings.Join(parts, ", ")
	if is.Drifted == was.Drifted && is.Removed == was.Removed && is.Launched == was.Launched && is.Moved == was.Moved {
		text += ", as without it"
		if is.Seconds != was.Seconds {
			text += " in " + was.length()
		}
	}
	text += fmt.Sprintf(": %s per hour (without it: %s)", is.change(), was.change())
	if n := is.toApprove(); n > 0 {
		text += fmt.Sprintf("; %s only once a person approves", counted(n, "node"))
	}
	if pdbs := is.budgets(); len(pdbs) > 0 {
		text += fmt.Sprintf("; %s in the way", are(len(pdbs), "PodDisruptionBudget"))
	}
	return text + "."
}

// Text is the forecast as text.
func (f Forecast) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Disruption: %s and %s now, %s and %s after %s\n", counted(f.Now.Nodes, "node"), f.Now.price(), counted(f.After.Nodes, "node"),
		f.After.price(), f.length())
	if len(f.Commands) == 0 {
		b.WriteString("No node is disrupted.\n")
	}
	if f.Unschedulable > 0 {
		fmt.Fprintf(&b, "Pods that fit nowhere at the end: %d\n", f.Unschedulable)
	}
	if f.WaitingForNodes > 0 {
		fmt.Fprintf(&b, "Pods that wait for nodes that start at the end: %d\n", f.WaitingForNodes)
	}
	b.WriteString(f.details(nil))
	return b.String()
}

// details are the commands, the workloads that move, and what is in the way.
func (f Forecast) details(notes []string) string {
	var b strings.Builder
	if len(f.Commands) > 0 {
		t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
		_, _ = fmt.Fprintln(t, "AT\tDONE\tREASON\tDECISION\tNODES\tLAUNCHES\tPODS\tSAVES/H") // a Builder never fails
		for _, c := range f.Commands[:min(len(f.Commands), shownCommands)] {
			_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", span(c.AtSeconds), span(c.DoneSeconds), c.Reason, c.Decision, some(c.Nodes),
				launched(c.Launches), c.Pods, c.saves())
		}
		_ = t.Flush() // a Builder never fails
		if n := len(f.Commands) - shownCommands; n > 0 {
			fmt.Fprintf(&b, "... and %s; -o json has all\n", counted(n, "more command"))
		}
		b.WriteString("\n")
	}
	if len(f.PendingLaunches) > 0 {
		fmt.Fprintf(&b, "Launched for pending pods: %s\n\n", launched(f.PendingLaunches))
	}
	if len(f.ReplicaLaunches) > 0 {
		fmt.Fprintf(&b, "Launched for the replicas of static NodePools: %s\n\n", launched(f.ReplicaLaunches))
	}
	if len(f.Moves) > 0 {
		b.WriteString("Pods that move, by workload:")
		for _, w := range f.Moves[:min(len(f.Moves), shownWorkloads)] {
			fmt.Fprintf(&b, " %s/%s %d,", w.Namespace, w.Name, w.Pods)
		}
		text := strings.TrimSuffix(b.String(), ",")
		b.Reset()
		b.WriteString(text)
		if n := len(f.Moves) - shownWorkloads; n > 0 {
			fmt.Fprintf(&b, ", and %s", counted(n, "more workload"))
		}
		b.WriteString("\n\n")
	}
	f.writeApprovals(&b)
	f.writeBlocked(&b)
	if f.Incomplete != "" {
		fmt.Fprintf(&b, "The forecast ends early: %s.\n\n", f.Incomplete)
	}
	for _, note := range slices.Concat(f.assumptions(), f.Notes, notes) {
		b.WriteString("note: " + note + "\n")
	}
	return b.String()
}

// toApprove is how many nodes are disrupted only once a person approves.
func (f Forecast) toApprove() int {
	n := 0
	for _, a := range f.Approvals {
		n += len(a.Nodes)
	}
	return n
}

// writeApprovals writes the commands that have to be approved.
func (f Forecast) writeApprovals(b *strings.Builder) {
	if len(f.Approvals) == 0 {
		return
	}
	fmt.Fprintf(b, "Disrupted only once a person approves (%s): when that happens is not known, and what follows from it is not forecast\n", counted(f.toApprove(), "node"))
	for _, a := range f.Approvals[:min(len(f.Approvals), shownCommands)] {
		saves := "savings unknown"
		if a.SavesPerHour != nil {
			saves = "saves " + dollars(*a.SavesPerHour) + "/h"
		}
		fmt.Fprintf(b, "  %s after %s: %s, %s, %s (OperationsPolicy %q: %s)\n", some(a.Nodes), span(a.AtSeconds), a.Reason, a.Decision, saves, a.OperationsPolicy, a.Message)
	}
	if n := len(f.Approvals) - shownCommands; n > 0 {
		fmt.Fprintf(b, "  ... and %s; -o json has all\n", counted(n, "more command"))
	}
	b.WriteString("\n")
}

// writeBlocked writes the nodes that are not disrupted, those with the same obstacle in one line.
func (f Forecast) writeBlocked(b *strings.Builder) {
	byObstacle := map[string][]string{}
	for _, node := range f.Blocked {
		key := node.Reason + ", but " + node.Message
		byObstacle[key] = append(byObstacle[key], node.Node)
	}
	if len(byObstacle) == 0 {
		return
	}
	b.WriteString("Not disrupted:\n")
	for _, key := range slices.Sorted(maps.Keys(byObstacle)) {
		fmt.Fprintf(b, "  %s: %s\n", some(byObstacle[key]), key)
	}
	b.WriteString("\n")
}

// assumptions are what durations and prices rest on.
func (f Forecast) assumptions() []string {
	launch := "the median of the NodeClaims of the cluster"
	if !f.LaunchLearned {
		launch = "given or assumed"
	}
	out := []string{fmt.Sprintf("a launch takes %s (%s), and pods use their whole termination grace period; capacity is available at the prices of the catalog; "+
		"workloads do not change; pods are bound to the nodes that Karpenter plans for them, and other nodes that kube-scheduler chooses change what can be consolidated later", span(f.LaunchSeconds), launch)}
	if f.Capped > 0 {
		out = append(out, fmt.Sprintf("%s for a node because of a cap on cost of OperationsPolicies", waits(f.Capped)))
	}
	if f.Now.UnknownPrices+f.After.UnknownPrices > 0 {
		out = append(out, fmt.Sprintf("the price of %d of the nodes now, and of %d after, is not known and not counted", f.Now.UnknownPrices, f.After.UnknownPrices))
	}
	return out
}

// budgets are the PodDisruptionBudgets that are in the way.
func (f Forecast) budgets() []string {
	var out []string
	for _, b := range f.Blocked {
		out = append(out, b.PodDisruptionBudgets...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (f Forecast) length() string {
	if f.Incomplete != "" {
		return "more than " + span(f.Seconds)
	}
	return span(f.Seconds)
}

// change is by how much the price of the fleet changes.
func (f Forecast) change() string {
	if f.Now.UnknownPrices+f.After.UnknownPrices > 0 {
		return "an unknown difference"
	}
	return dollars(f.After.PricePerHour - f.Now.PricePerHour)
}

func (f Fleet) price() string {
	text := fmt.Sprintf("$%.4f/h", f.PricePerHour)
	if f.UnknownPrices > 0 {
		text += "+?"
	}
	return text
}

func (c Command) saves() string {
	if c.SavesPerHour == nil {
		return "unknown"
	}
	return dollars(*c.SavesPerHour)
}

// dollars is an amount with its sign.
func dollars(amount float64) string {
	if amount < 0 {
		return fmt.Sprintf("-$%.4f", -amount)
	}
	return fmt.Sprintf("$%.4f", amount)
}

func span(seconds int) string { return (time.Duration(seconds) * time.Second).String() }

// some are the first names of a list, and the number of the others.
func some(names []string) string {
	if len(names) <= shownNodes {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shownNodes], ", "), len(names)-shownNodes)
}

// launched are the nodes of a command by instance type.
func launched(nodes []Node) string {
	if len(nodes) == 0 {
		return "-"
	}
	count := map[string]int{}
	for _, n := range nodes {
		count[n.InstanceType+" "+n.CapacityType]++
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		out = append(out, fmt.Sprintf("%d %s", count[name], name))
	}
	return strings.Join(out, ", ")
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func waits(pods int) string {
	if pods == 1 {
		return "1 pod waits"
	}
	return fmt.Sprintf("%d pods wait", pods)
}

func are(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return fmt.Sprintf("%d %ss are", n, what)
}
