package explain

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/document"
	"github.com/karpenter-anew/karpenter/internal/explain"
)

// write prints answers about objects of the cluster; paint colors a text for a terminal.
func write(to io.Writer, o command.Output, answers explain.List, single bool, paint func(string) string) error {
	var shown explain.Answer = answers
	if single && len(answers.Items) == 1 {
		shown = answers.Items[0]
	}
	switch o {
	case command.OutputText:
		_, err := io.WriteString(to, paint(shown.Text()))
		return err
	case command.OutputName:
		for _, r := range rows(answers) {
			if _, err := fmt.Fprintln(to, strings.ToLower(r.kind)+"/"+r.name); err != nil {
				return err
			}
		}
		return nil
	case command.OutputTable, command.OutputWide:
		return writeTable(to, rows(answers), o == command.OutputWide, paint)
	}
	return document.Write(to, shown, o.Document())
}

// row is one line of a table: an object, or pods of a workload with the same answer.
type row struct {
	kind, namespace, name, state, where, why string
	// help and count are columns of wide tables.
	help  string
	count int
}

// rows are the lines of answers.
func rows(answers explain.List) []row {
	var out []row
	for _, a := range answers.Items {
		switch a := a.(type) {
		case explain.Pod:
			out = append(out, podRow(a))
		case explain.Node:
			out = append(out, nodeRow(a))
		case explain.NodePool:
			state := "Launches"
			if !a.Launches {
				state = "NoLaunches"
			}
			out = append(out, row{kind: a.Kind, name: a.Name, state: state, why: a.Message, help: a.Help, count: a.Nodes})
		case explain.Workload:
			if len(a.Groups) == 0 {
				out = append(out, row{kind: a.Kind, namespace: a.Namespace, name: a.Name, state: "NoPods"})
			}
			for _, g := range a.Groups {
				r := podRow(explain.Pod{Kind: a.Kind, Namespace: a.Namespace, Name: a.Name, State: g.State, Fate: g.Fate})
				r.count, r.where = len(g.Pods), cmp.Or(strings.Join(g.Nodes[:min(len(g.Nodes), 1)], ""), r.where)
				out = append(out, r)
			}
		}
	}
	return out
}

func podRow(a explain.Pod) row {
	r := row{kind: a.Kind, namespace: a.Namespace, name: a.Name, state: string(a.State), why: a.Fate.Message, count: 1}
	switch {
	case a.Bound != nil:
		r.where = a.Bound.Node
	case a.Fate.Placement != nil:
		r.where = cmp.Or(a.Fate.Placement.Node, a.Fate.Placement.NodeClaim)
	case a.Fate.Launch != nil:
		r.where = "new " + a.Fate.Launch.InstanceType
	}
	var codes []string
	for _, reason := range a.Fate.Reasons {
		codes = append(codes, strings.TrimPrefix(reason.NodePool+":"+reason.Code, ":"))
		r.help = cmp.Or(r.help, reason.Help)
	}
	r.why = cmp.Or(r.why, strings.Join(codes, ","))
	return r
}

func nodeRow(a explain.Node) row {
	r := row{kind: "Node", name: a.Name, state: "Stays", where: a.NodePool, count: a.PodsToMove}
	if a.Obstacle != nil {
		r.state, r.why, r.help = "Blocked", a.Obstacle.Code, a.Obstacle.Help
		return r
	}
	for _, v := range a.Verdicts {
		switch {
		case v.Plan != nil && v.Obstacle == nil:
			r.state, r.why, r.help = "Disruptable", v.Reason, ""
			return r
		case v.Wanted && v.Obstacle != nil && r.state == "Stays":
			r.state, r.why, r.help = "Blocked", v.Reason+":"+v.Obstacle.Code, v.Obstacle.Help
		}
	}
	return r
}

// writeTable prints rows as kubectl prints tables.
func writeTable(to io.Writer, all []row, wide bool, paint func(string) string) error {
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	line := func(cells ...string) {
		for i, cell := range cells {
			cells[i] = cmp.Or(cell, "-")
		}
		_, _ = fmt.Fprintln(table, strings.Join(cells, "\t")) // a buffer does not fail
	}
	head := []string{"KIND", "NAMESPACE", "NAME", "STATE", "WHERE", "WHY"}
	if wide {
		head = append(head, "COUNT", "HELP")
	}
	line(head...)
	for _, r := range all {
		cells := []string{r.kind, r.namespace, r.name, r.state, r.where, r.why}
		if wide {
			cells = append(cells, fmt.Sprint(r.count), r.help)
		}
		line(cells...)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(to, paint(text.String()))
	return err
}
