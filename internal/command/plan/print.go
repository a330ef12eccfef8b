package plan

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/document"
)

// printList prints plans.
func printList(out io.Writer, list []opsv1alpha1.DisruptionPlan, format command.Output) error {
	switch format {
	case command.OutputName:
		for i := range list {
			if _, err := fmt.Fprintln(out, "disruptionplan/"+list[i].Name); err != nil {
				return err
			}
		}
		return nil
	case command.OutputTable, command.OutputWide:
	default:
		for i := range list {
			setKind(&list[i])
		}
		return document.Write(out, map[string]any{"apiVersion": "v1", "kind": "List", "items": list}, format.Document())
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	header := "NAME\tPHASE\tREASON\tACTION\tNODES\tPODS\tRISK\tSAVES/H\tEXPIRES"
	if format == command.OutputWide {
		header += "\tNODEPOOLS\tPOLICY\tDECIDED-BY\tWAITING-FOR"
	}
	_, _ = fmt.Fprintln(w, header)
	for i := range list {
		p := &list[i]
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s", p.Name, phaseOf(p), p.Spec.Reason, p.Spec.Action, len(p.Spec.Nodes), pods(p), p.Spec.Risk,
			cmp.Or(p.Spec.SavingsPerHour, "unknown"), stamp(p.Spec.ExpiresAt.Time))
		if format == command.OutputWide {
			_, _ = fmt.Fprintf(w, "\t%s\t%s\t%s\t%s", strings.Join(pools(p), ","), p.Spec.OperationsPolicy.Name, decidedBy(p), cmp.Or(p.Status.WaitingFor, "-"))
		}
		_, _ = fmt.Fprintln(w)
	}
	return w.Flush()
}

// printOne prints a plan with all that it does.
func printOne(out io.Writer, p *opsv1alpha1.DisruptionPlan, format command.Output) error {
	switch format {
	case command.OutputTable, command.OutputWide:
	case command.OutputName:
		_, err := fmt.Fprintln(out, "disruptionplan/"+p.Name)
		return err
	default:
		setKind(p)
		return document.Write(out, p, format.Document())
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(key, text string, args ...any) { _, _ = fmt.Fprintf(w, key+":\t"+text+"\n", args...) }
	line("Name", "%s", p.Name)
	line("Phase", "%s", phaseOf(p))
	if p.Status.WaitingFor != "" {
		line("Waiting for", "%s", p.Status.WaitingFor)
	}
	line("Proposes", "%s of %d nodes because they are %s, by the method %s", p.Spec.Action, len(p.Spec.Nodes), strings.ToLower(string(p.Spec.Reason)), p.Spec.Method)
	line("Asked for by", "OperationsPolicy %s: %s", p.Spec.OperationsPolicy.Name, p.Spec.OperationsPolicy.Why)
	line("Saves", "%s dollars per hour", cmp.Or(p.Spec.SavingsPerHour, "an unknown number of"))
	line("Risk", "%d of %d pods are evicted without protection", p.Spec.Risk, pods(p))
	line("Valid until", "%s", stamp(p.Spec.ExpiresAt.Time))
	line("Decided by", "%s", decidedBy(p))
	for _, n := range p.Spec.Nodes {
		line("Node", "%s (NodeClaim %s, NodePool %s) %s", n.Name, n.NodeClaim, n.NodePool, kind(n.InstanceType, n.CapacityType, n.Zone, n.PricePerHour))
	}
	for _, r := range p.Spec.Replacements {
		types := r.InstanceTypes
		if format != command.OutputWide && len(types) > 3 {
			types = append(types[:3:3], fmt.Sprintf("and %d more", len(types)-3))
		}
		line("Replacement", "NodePool %s %s", r.NodePool, kind(strings.Join(types, ", "), strings.Join(r.CapacityTypes, ","), strings.Join(r.Zones, ","), r.PricePerHour))
	}
	for _, e := range p.Spec.Evictions {
		line("Evicts", "%d pods of %s %s/%s, %d without protection", e.Pods, e.Kind, e.Namespace, e.Name, e.Unprotected)
	}
	for _, c := range p.Status.Conditions {
		line(c.Type, "%s %s: %s", stamp(c.LastTransitionTime.Time), c.Reason, c.Message)
	}
	return w.Flush()
}

// kind joins what is known of a node.
func kind(instanceType, capacityType, zone, price string) string {
	parts := []string{}
	for _, text := range []string{instanceType, capacityType, zone} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if price != "" {
		parts = append(parts, "$"+price+"/h")
	}
	return strings.Join(parts, " ")
}

func setKind(p *opsv1alpha1.DisruptionPlan) {
	p.SetGroupVersionKind(opsv1alpha1.SchemeGroupVersion.WithKind("DisruptionPlan"))
}

func phaseOf(p *opsv1alpha1.DisruptionPlan) opsv1alpha1.PlanPhase {
	return cmp.Or(p.Status.Phase, opsv1alpha1.PlanProposed)
}

func pods(p *opsv1alpha1.DisruptionPlan) int {
	n := 0
	for _, e := range p.Spec.Evictions {
		n += int(e.Pods)
	}
	return n
}

func pools(p *opsv1alpha1.DisruptionPlan) []string {
	var out []string
	seen := map[string]bool{}
	for _, n := range p.Spec.Nodes {
		if !seen[n.NodePool] {
			seen[n.NodePool] = true
			out = append(out, n.NodePool)
		}
	}
	return out
}

func decidedBy(p *opsv1alpha1.DisruptionPlan) string {
	d := p.Spec.Decision
	if d == nil {
		return "-"
	}
	return fmt.Sprintf("%s (%s)", d.By, d.Verdict)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
