package ledger

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Summary describes a record in one line.
func (r Record) Summary() string {
	text := ""
	switch {
	case r.Start != nil:
		text = fmt.Sprintf("became the leader (version %s, run %s)", cmp.Or(r.Start.Controller, "unknown"), r.Start.Run)
	case r.Fleet != nil:
		text = fmt.Sprintf("lists %s (part %d of %d)", count(len(r.Fleet.NodeClaims), "nodeclaim"), r.Fleet.Part, r.Fleet.Parts)
	case r.Provisioning != nil:
		text = r.Provisioning.summary()
	case r.Disruption != nil:
		text = r.Disruption.summary()
	case r.Command != nil:
		text = r.Command.summary()
	case r.NodeClaim != nil:
		text = r.NodeClaim.summary()
	case r.Saving != nil:
		text = r.Saving.summary()
	case r.Plan != nil:
		text = r.Plan.summary()
	}
	for _, list := range sorted(r.Cut) {
		text += fmt.Sprintf("; %d of %s left out", r.Cut[list], list)
	}
	return text
}

func (p *Provisioning) summary() string {
	parts := []string{fmt.Sprintf("considered %s and %s", count(p.Pods, "pod"), count(p.Nodes, "node"))}
	if n := len(p.NodeClaims); n > 0 {
		parts = append(parts, "create "+count(n, "nodeclaim")+": "+join(p.NodeClaims, func(c PlannedNodeClaim) string {
			return cmp.Or(c.Name, c.NodePool+" (not created: "+c.Error+")") + " for " + c.Pods.text()
		}))
	}
	if len(p.Placements) > 0 {
		parts = append(parts, "use "+join(p.Placements, func(at Placement) string {
			return cmp.Or(at.Node, at.NodeClaim) + " for " + at.Pods.text()
		}))
	}
	for _, u := range p.Unschedulable {
		parts = append(parts, u.Pods.text()+" unschedulable: "+join(u.Reasons, func(why PoolReason) string {
			return strings.TrimPrefix(why.NodePool+" ", " ") + string(why.Code)
		}))
	}
	return strings.Join(append(parts, p.Cost.text()), "; ")
}

func (d *Disruption) summary() string {
	parts := []string{fmt.Sprintf("considered %s, %s", count(d.Nodes, "node"), count(d.Candidates, "candidate"))}
	for _, c := range d.Commands {
		parts = append(parts, fmt.Sprintf("%s %s %s", c.Reason, c.Decision, join(c.Nodes, func(s NodeClaimState) string {
			return cmp.Or(s.Node, s.Name)
		}))+c.effect())
	}
	if len(d.Commands) == 0 && len(d.LeftAlone) > 0 {
		parts = append(parts, "left alone: "+join(d.LeftAlone, func(l LeftAlone) string {
			if l.Method == "" {
				return fmt.Sprintf("%d (%s)", l.Count, l.Code)
			}
			return fmt.Sprintf("%d by %s (%s)", l.Count, methodName(l.Method), l.Code)
		}))
	}
	if d.Error != "" {
		parts = append(parts, "error: "+d.Error)
	}
	return strings.Join(append(parts, d.Cost.text()), "; ")
}

// methodName is a method as the documentation of disruption calls it.
func methodName(method string) string {
	if method == "dispensable" {
		return "emptiness of zero-cost pods"
	}
	return method
}

// effect is what a command launches and saves.
func (c Command) effect() string {
	out := fmt.Sprintf(", %s to move, saves %s/h, command %s", count(c.Pods, "pod"), dollars(c.SavingsPerHour), c.ID)
	if n := len(c.Replacements); n > 0 {
		return " -> " + count(n, "replacement") + out
	}
	return out
}

func (c *CommandEvent) summary() string {
	out := fmt.Sprintf("%s %s of %s %s", c.Reason, c.Decision, join(c.NodeClaims, itself), c.Outcome)
	if len(c.Launched) > 0 {
		out += ", replaced by " + join(c.Launched, itself)
	}
	for _, o := range c.Obstacles {
		out += fmt.Sprintf("; %s: %s", o.Node, o.Code)
	}
	if c.Error != "" {
		out += "; error: " + c.Error
	}
	return out + ", command " + c.ID
}

func (e *NodeClaimEvent) summary() string {
	out := fmt.Sprintf("%s %s", e.Name, e.Event)
	if e.Reason != "" {
		out += ", reason " + e.Reason
	}
	if e.Pods != nil {
		out += ", for " + e.Pods.text()
	}
	if e.Command != "" {
		out += ", command " + e.Command
	}
	if e.InstanceType != "" {
		out += fmt.Sprintf(", %s %s %s", e.InstanceType, e.CapacityType, e.Zone)
	}
	if e.Price != nil {
		out += " " + dollars(*e.Price) + "/h"
	}
	if e.Node != "" {
		out += ", node " + e.Node
	}
	return out
}

func (s *Saving) summary() string {
	name := func(c NodeClaimState) string { return c.Name }
	switch {
	case s.Event == SavingEnded:
		return fmt.Sprintf("%s %s: %s in %s, command %s", s.Reason, s.End, dollars(s.Dollars), time.Duration(s.Seconds*float64(time.Second)).Round(time.Second), s.Command)
	case s.PerHour == nil:
		return fmt.Sprintf("%s of %s is not counted, prices are not known of %s, command %s", s.Reason, join(s.Removed, name), join(s.Unpriced, itself), s.Command)
	}
	out := fmt.Sprintf("%s of %s saves %s/h", s.Reason, join(s.Removed, name), dollars(*s.PerHour))
	if len(s.Launched) > 0 {
		out += ", replaced by " + join(s.Launched, name)
	}
	return out + ", command " + s.Command
}

func (c *Cost) text() string {
	if c == nil {
		return "cost unknown"
	}
	out := dollars(c.Before) + "/h"
	if c.After != c.Before {
		out += " -> " + dollars(c.After) + "/h"
	}
	if c.Unpriced > 0 {
		out += fmt.Sprintf(" and %d without a price", c.Unpriced)
	}
	return out
}

func (n Names) text() string {
	const shown = 3
	out := join(n.First[:min(len(n.First), shown)], itself)
	if rest := n.Count - min(len(n.First), shown); rest > 0 {
		out = strings.TrimPrefix(fmt.Sprintf("%s and %d more", out, rest), " and ")
	}
	return out
}

// shownEntries is the number of entries of a list that a summary shows.
const shownEntries = 5

// join lists the first entries and says how many more there are.
func join[T any](list []T, text func(T) string) string {
	var out []string
	for _, entry := range list[:min(len(list), shownEntries)] {
		out = append(out, text(entry))
	}
	if rest := len(list) - len(out); rest > 0 {
		out = append(out, fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(out, ", ")
}

// dollars is an amount of money; the sign comes first, and an amount that rounds to zero has none.
func dollars(amount float64) string {
	text := fmt.Sprintf("$%.4f", math.Abs(amount))
	if amount < 0 && text != "$0.0000" {
		return "-" + text
	}
	return text
}

func itself(text string) string { return text }

// count is a number with a noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func sorted(of map[string]int) []string {
	var out []string
	for key := range of {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}
