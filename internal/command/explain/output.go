package explain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"
	"k8s.io/client-go/util/jsonpath"

	"github.com/karpenter-anew/karpenter/internal/document"
	"github.com/karpenter-anew/karpenter/internal/explain"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// output is how answers are printed: one of the formats, or jsonPath with a template.
type output string

// The formats.
const (
	textOutput  output = "text"
	tableOutput output = "table"
	wideOutput  output = "wide"
	jsonOutput  output = "json"
	yamlOutput  output = "yaml"
	nameOutput  output = "name"
	// jsonPath is followed by a template, such as {.state}.
	jsonPath output = "jsonpath="
)

// Decode implements kong.MapperValue.
func (o *output) Decode(ctx *kong.DecodeContext) error {
	return options.DecodeText(ctx, o, func(text string) (output, error) {
		known := []output{textOutput, tableOutput, wideOutput, jsonOutput, yamlOutput, nameOutput}
		switch template, isPath := strings.CutPrefix(text, string(jsonPath)); {
		case isPath:
			if _, err := parsePath(template); err != nil {
				return "", err
			}
		case !slices.Contains(known, output(text)):
			return "", fmt.Errorf("allowed: text, table, wide, json, yaml, name, jsonpath=TEMPLATE")
		}
		return output(text), nil
	})
}

// parsePath reads the template of a JSONPath as kubectl does.
func parsePath(template string) (*jsonpath.JSONPath, error) {
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(template); err != nil {
		return nil, fmt.Errorf("the template is no JSONPath such as {.state}: %w", err)
	}
	return path, nil
}

// write prints answers about objects of the cluster; paint colors a text for a terminal.
func (o output) write(to io.Writer, answers explain.List, single bool, paint func(string) string) error {
	var shown explain.Answer = answers
	if single && len(answers.Items) == 1 {
		shown = answers.Items[0]
	}
	switch o {
	case textOutput:
		_, err := io.WriteString(to, paint(shown.Text()))
		return err
	case jsonOutput:
		return document.Write(to, shown, document.JSON)
	case yamlOutput:
		return document.Write(to, shown, document.YAML)
	case nameOutput:
		for _, r := range rows(answers) {
			if _, err := fmt.Fprintln(to, strings.ToLower(r.kind)+"/"+r.name); err != nil {
				return err
			}
		}
		return nil
	case tableOutput, wideOutput:
		return writeTable(to, rows(answers), o == wideOutput, paint)
	}
	return writePath(to, shown, strings.TrimPrefix(string(o), string(jsonPath)))
}

// writePath prints what a template selects of the JSON of an answer.
func writePath(to io.Writer, shown explain.Answer, template string) error {
	path, err := parsePath(template)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := document.Write(&text, shown, document.JSON); err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(text.Bytes(), &value); err != nil {
		return fmt.Errorf("reading the answer again: %w", err)
	}
	var out bytes.Buffer
	if err := path.Execute(&out, value); err != nil {
		return fmt.Errorf("the template %s does not apply to the answer: %w", template, err)
	}
	_, err = fmt.Fprintln(to, out.String())
	return err
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
		case v.Plan != nil:
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
