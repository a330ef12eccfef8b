package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// table renders the report as tables: empty sections are left out, the sum comes last.
func (r Report) table() string {
	var b strings.Builder
	section(&b, "Notes", len(r.Notes), func() {
		for _, note := range r.Notes {
			b.WriteString(indent + note + "\n")
		}
	})
	section(&b, "Nodes to launch", len(r.Launches), func() { r.launchTable(&b) })
	section(&b, "Pods on existing nodes", len(r.Placements), func() { r.placementTable(&b) })
	section(&b, "Pods that do not fit", len(r.Unschedulable), func() {
		for _, u := range r.Unschedulable {
			u.write(&b)
		}
	})
	section(&b, "Pods that are ignored", len(r.Ignored), func() {
		for _, i := range r.Ignored {
			b.WriteString(indentLines(indent, wrap(podList(i.Workloads))))
			b.WriteString(indent + indent + i.Message + "\n")
		}
	})
	section(&b, "NodePools that are not used", len(r.UnusedPools), func() {
		for _, p := range r.UnusedPools {
			b.WriteString(indent + p.Name + ": " + p.Message + "\n")
			writeHelp(&b, indent+indent, p.Help)
		}
	})
	section(&b, "Objects that have no effect", len(r.SkippedObjects), func() {
		for _, o := range r.SkippedObjects {
			b.WriteString(indent + o + "\n")
		}
	})
	b.WriteString(r.sum())
	return b.String()
}

// section writes a heading, content and an empty line, if there is content.
func section(b *strings.Builder, heading string, entries int, content func()) {
	if entries == 0 {
		return
	}
	b.WriteString(heading + "\n")
	content()
	b.WriteString("\n")
}

func (r Report) launchTable(b *strings.Builder) {
	var g grid
	g.add(nil, "", "INSTANCE TYPE", "NODEPOOL", "CAPACITY TYPE", "ZONE", "$/H EACH", "PODS EACH")
	for _, l := range r.Launches {
		g.add(l.details(), strconv.Itoa(l.Count)+" ×", l.InstanceType, l.NodePool, strings.Join(l.CapacityTypes, " "), brace(l.Zones),
			price(l.PricePerHour), podList(l.Workloads))
	}
	g.write(b)
}

// details are the lines below a launch.
func (l Launch) details() []string {
	requests := "requests " + amountList(l.Requests)
	if n := len(l.Alternatives); n > 0 {
		requests += "; " + plural(n, "other instance type")
		if n == 1 {
			requests += " fits"
		} else {
			requests += " fit"
		}
	}
	out := []string{requests}
	if len(l.Nodes) > 0 && len(l.Nodes[0].Devices) > 0 {
		out = append(out, "devices "+deviceList(l.Nodes[0].Devices))
	}
	if len(l.Requirements) > 0 {
		out = append(out, "where "+requirementList(l.Requirements))
	}
	if len(l.Labels) > 0 {
		labels := make([]string, 0, len(l.Labels))
		for _, key := range slices.Sorted(maps.Keys(l.Labels)) {
			labels = append(labels, key+"="+l.Labels[key])
		}
		out = append(out, "labels "+strings.Join(labels, ", "))
	}
	return out
}

func (r Report) placementTable(b *strings.Builder) {
	var g grid
	g.add(nil, "NODE", "NODEPOOL", "PODS")
	for _, p := range r.Placements {
		name, pool := p.Node, p.NodePool
		if name == "" {
			name = "(nodeclaim " + p.NodeClaim + ")"
		}
		if pool == "" {
			pool = "-"
		}
		var below []string
		if len(p.Devices) > 0 {
			below = append(below, "devices "+deviceList(p.Devices))
		}
		g.add(below, name, pool, podList(p.Workloads))
	}
	g.write(b)
}

// write shows pods and their reasons.
func (u Refusal) write(b *strings.Builder) {
	b.WriteString(indentLines(indent, wrap(podList(u.Workloads))))
	b.WriteString(Reasons(indent+indent, u.Reasons))
}

// Reasons renders reasons, each line after before; NodePools with the same reason share an entry.
func Reasons(before string, reasons []Reason) string {
	var b strings.Builder
	for i := 0; i < len(reasons); {
		why, pools := reasons[i], []string{}
		for i < len(reasons) && reasons[i].same(why) {
			pools = append(pools, reasons[i].NodePool)
			i++
		}
		label := ""
		if why.NodePool != "" {
			label = strings.Join(pools, ", ") + ": "
		}
		b.WriteString(before + label + why.Message + "\n")
		if why.Detail != "" {
			b.WriteString(before + indent + why.Detail + "\n")
		}
		if len(why.Requests) > 0 {
			b.WriteString(before + indent + "asked for: " + amountList(why.Requests) + "\n")
		}
		if len(why.Requirements) > 0 {
			b.WriteString(before + indent + "where: " + requirementList(why.Requirements) + "\n")
		}
		writeHelp(&b, before+indent, why.Help)
	}
	return b.String()
}

// same reports whether two reasons have the same text.
func (r Reason) same(o Reason) bool {
	return r.Message == o.Message && r.Detail == o.Detail && r.Code == o.Code && maps.Equal(r.Requests, o.Requests) &&
		requirementList(r.Requirements) == requirementList(o.Requirements)
}

func writeHelp(b *strings.Builder, before, help string) {
	if help != "" {
		b.WriteString(before + "what would help: " + help + "\n")
	}
}

func (r Report) sum() string {
	pods := r.Total.Pods
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{pods.OnNewNodes, "on new nodes"},
		{pods.OnExistingNodes, "on existing nodes"},
		{pods.Unschedulable, "unschedulable"},
		{pods.Ignored, "ignored"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	all := pods.OnNewNodes + pods.OnExistingNodes + pods.Unschedulable + pods.Ignored
	text := plural(all, "pod")
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return fmt.Sprintf("Total: %s to launch, $%s/h; %s\n", plural(r.Total.Nodes, "node"), price(r.Total.PricePerHour), text) + r.Total.least()
}

// least describes the proven lower bound of the price.
func (t Total) least() string {
	switch {
	case t.PricePerHour == 0:
		return ""
	case t.Gap == 0:
		return "No nodes for these pods cost less: this is proven\n"
	}
	saved := "less than 0.1"
	if t.Gap >= 0.001 {
		saved = fmt.Sprintf("at most %.1f", 100*t.Gap)
	}
	return fmt.Sprintf("No nodes for these pods cost less than $%s/h: %s %% could be saved\n", cut(t.LowerBoundPerHour), saved)
}

// cut is price without rounding up.
func cut(dollars float64) string { return price(math.Floor(dollars*1e4) / 1e4) }

func price(dollars float64) string { return strconv.FormatFloat(dollars, 'f', 4, 64) }

// podList is "3 api, 31 web, alone": the number of pods of each workload, and pods of none.
func podList(workloads []Workload) string {
	parts := make([]string, len(workloads))
	for i, w := range workloads {
		name := w.Name
		if w.Namespace != "" && w.Namespace != metav1.NamespaceDefault {
			name = w.Namespace + "/" + name
		}
		parts[i] = name
		if w.Kind != "Pod" || w.Pods != 1 {
			parts[i] = strconv.Itoa(w.Pods) + " " + name
		}
	}
	return strings.Join(parts, ", ")
}

// amountList is "cpu 31, memory 31Gi": without the number of pods, which is shown elsewhere.
func amountList(amounts map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		if name != "pods" {
			parts = append(parts, name+" "+amounts[name])
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// shownValues is how many values of a requirement the table shows before it counts the rest.
const shownValues = 5

func requirementList(list []Requirement) string {
	parts := make([]string, len(list))
	for i, r := range list {
		parts[i] = r.Key + " " + r.Operator
		if len(r.Values) > 0 {
			shown := r.Values[:min(len(r.Values), shownValues)]
			parts[i] += " [" + strings.Join(shown, " ")
			if rest := len(r.Values) - len(shown); rest > 0 {
				parts[i] += fmt.Sprintf(" and %d others", rest)
			}
			parts[i] += "]"
		}
		if r.MinValues > 0 {
			parts[i] += fmt.Sprintf(" minValues %d", r.MinValues)
		}
	}
	return strings.Join(parts, ", ")
}

// brace shortens names with a common beginning: zone-{a,b,c}.
func brace(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	prefix := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	if len(prefix) < 3 {
		return strings.Join(names, " ")
	}
	rest := make([]string, len(names))
	for i, name := range names {
		rest[i] = name[len(prefix):]
	}
	return prefix + "{" + strings.Join(rest, ",") + "}"
}

func indentLines(before string, lines []string) string {
	return before + strings.Join(lines, "\n"+before) + "\n"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
