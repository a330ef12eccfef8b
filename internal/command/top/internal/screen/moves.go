package screen

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// moveRow is a disruption command, a DisruptionPlan, or the budgets of a NodePool.
type moveRow struct {
	command *view.Command
	plan    *view.Plan
	budgets *view.Budgets
}

// moveRows are the commands first, then plans, then the budgets.
func moveRows(v *view.Moves) []moveRow {
	out := make([]moveRow, 0, len(v.Commands)+len(v.Plans)+len(v.Pools))
	for i := range v.Commands {
		out = append(out, moveRow{command: &v.Commands[i]})
	}
	for i := range v.Plans {
		out = append(out, moveRow{plan: &v.Plans[i]})
	}
	for i := range v.Pools {
		out = append(out, moveRow{budgets: &v.Pools[i]})
	}
	return out
}

func (r moveRow) state() span {
	if r.plan != nil {
		return span{"plan", faint}
	}
	if r.command == nil {
		return span{"budgets", faint}
	}
	text := string(r.command.State)
	switch r.command.State {
	case view.Failed, view.Rejected:
		return span{text, bad}
	case view.Succeeded:
		return span{text, good}
	}
	return span{text, warn}
}

func (r moveRow) reason() string {
	if r.plan != nil {
		return r.plan.Reason
	}
	if r.command == nil {
		return r.budgets.NodePool
	}
	return r.command.Reason
}

// what is what a command does with which nodes, or what budgets allow.
func (r moveRow) what() string {
	if c := r.command; c != nil {
		text := c.Decision + " " + listed(c.Nodes, len(c.Nodes), 2)
		if len(c.Replacements) > 0 {
			text += " -> " + listed(c.Replacements, len(c.Replacements), 2)
		}
		if c.Approval != nil {
			text += ", once a person approves"
		}
		if c.Error != "" {
			text += ": " + c.Error
		}
		if c.WaitsFor != "" {
			text += ", waits for " + c.WaitsFor
		}
		return text
	}
	if p := r.plan; p != nil {
		text := strings.ToLower(p.Phase) + ": " + p.Decision + " " + listed(p.Nodes, len(p.Nodes), 2) + ", plan " + p.Name
		if p.By != "" {
			text += " by " + p.By
		}
		if p.Why != "" {
			text += ": " + p.Why
		}
		return text
	}
	var parts []string
	for _, a := range r.budgets.Allowances {
		switch {
		case a.Error != "":
			parts = append(parts, a.Reason+" none")
		case a.Closed != nil:
			parts = append(parts, a.Reason+" none: "+a.Closed.Kind+" of "+a.Closed.OperationsPolicy)
		case a.Allowed == nil:
			parts = append(parts, a.Reason+" no limit")
		default:
			parts = append(parts, fmt.Sprintf("%s %d of %d", a.Reason, a.Disrupting, *a.Allowed))
		}
	}
	return strings.Join(parts, ", ")
}

// when is the last moment that is known of a command.
func (r moveRow) when() time.Time {
	switch {
	case r.plan != nil:
		return r.plan.Changed
	case r.command == nil:
	case r.command.Ended != nil:
		return *r.command.Ended
	case r.command.Decided != nil:
		return *r.command.Decided
	}
	return time.Time{}
}

func (r moveRow) saves() *float64 {
	if r.command == nil {
		return nil
	}
	return r.command.SavesPerHour
}

// pods are those that a command moves, -1 for budgets.
func (r moveRow) pods() int {
	if r.command == nil {
		return -1
	}
	return r.command.Pods
}

// ofCommand is a cell that only commands have.
func (r moveRow) ofCommand(text func() string) span {
	if r.command == nil {
		return span{}
	}
	return span{text: text()}
}

// movesTable has a row for each command, and for the budgets of each NodePool.
func movesTable(v *view.Moves) table {
	rows := moveRows(v)
	return table{
		columns: []column{
			{title: "STATE", min: 10, max: 10, cell: func(row int) span { return rows[row].state() }},
			{title: "REASON", min: 13, max: 20, cell: func(row int) span { return span{text: rows[row].reason()} }},
			{
				title: "PODS", rank: 1, min: 5, max: 5, right: true, largest: true, compare: func(a, b int) int { return cmp.Compare(rows[a].pods(), rows[b].pods()) },
				cell: func(row int) span {
					return rows[row].ofCommand(func() string { return strconv.Itoa(rows[row].pods()) })
				},
			},
			{
				title: "SAVES/H", rank: 1, min: 8, max: 8, right: true, largest: true, compare: func(a, b int) int { return compareKnown(rows[a].saves(), rows[b].saves()) },
				cell: func(row int) span {
					return rows[row].ofCommand(func() string { return knownDollars(rows[row].saves()) })
				},
			},
			{
				title: "SINCE", rank: 2, min: 6, max: 6, right: true, compare: func(a, b int) int { return rows[b].when().Compare(rows[a].when()) },
				cell: func(row int) span {
					if rows[row].when().IsZero() {
						return span{}
					}
					return span{text: since(rows[row].when(), v.At)}
				},
			},
			{title: "WHAT", rank: 1, min: 20, cell: func(row int) span { return span{text: rows[row].what()} }},
		},
		rows: len(rows),
		id: func(row int) string {
			if c := rows[row].command; c != nil {
				return cmp.Or(c.ID, c.Reason+" "+strings.Join(c.Nodes, " "))
			}
			if p := rows[row].plan; p != nil {
				return "plan " + p.Name
			}
			return "budgets of " + rows[row].budgets.NodePool
		},
		search: func(row int) string { return rows[row].search() },
		none:   "No node is being disrupted, and no NodePool has budgets.",
	}
}

func (r moveRow) search() string {
	text := r.state().text + "\n" + r.reason() + "\n" + r.what()
	if c := r.command; c != nil {
		text += "\n" + c.ID + "\n" + strings.Join(c.Nodes, "\n") + "\n" + strings.Join(c.NodePools, "\n") + "\n" + strings.Join(c.Replacements, "\n")
	}
	return text
}

// movePage has all that is known about a command, or about budgets.
func (w writer) movePage(r moveRow, unknown []string) []line {
	if r.plan != nil {
		return append(w.planPage(r.plan), w.unknownLines(unknown)...)
	}
	if r.command == nil {
		return append(w.budgetPage(r.budgets), w.unknownLines(unknown)...)
	}
	c := r.command
	out := []line{
		w.fact("State", string(c.State)),
		w.fact("Reason", c.Reason+", decision "+c.Decision),
		w.fact("Command", cmp.Or(c.ID, "not decided, or its ID is not known")),
		w.fact("NodePools", listed(c.NodePools, len(c.NodePools), len(c.NodePools))),
		w.fact("Pods", counted(c.Pods, "pod")+" to move"),
		w.fact("Saves", knownDollars(c.SavesPerHour)+"/h"),
		w.fact("Decided", w.optional(c.Decided, "not known, or not yet")),
		w.fact("Ended", w.optional(c.Ended, "not known, or not yet")),
	}
	switch c.State {
	case view.Waiting:
		out = append(out, w.fact("Validated", w.optional(c.Due, "not known")))
	case view.UnderWay:
		out = append(out, w.fact("Started", w.optional(c.Started, "not known")), w.fact("Waits for", cmp.Or(c.WaitsFor, "not known")))
	}
	if c.Plan != "" {
		out = append(out, w.fact("Plan", c.Plan))
	}
	if c.Approval != nil {
		out = append(out, section("Approval"))
		out = append(out, w.prose(fmt.Sprintf("  OperationsPolicy %q asks for it: %s", c.Approval.OperationsPolicy, c.Approval.Message))...)
	}
	if c.Error != "" {
		out = append(out, section("Error"))
		out = append(out, w.prose("  "+c.Error)...)
	}
	out = append(out, section(fmt.Sprintf("Nodes to remove (%d)", len(c.Nodes))))
	for _, n := range c.Nodes {
		out = append(out, line{{text: "  " + n}})
	}
	out = append(out, section(fmt.Sprintf("Replacements (%d)", len(c.Replacements))))
	for _, n := range c.Replacements {
		out = append(out, line{{text: "  " + n}})
	}
	return append(out, w.unknownLines(unknown)...)
}

// planPage has all that is known about a DisruptionPlan.
func (w writer) planPage(p *view.Plan) []line {
	out := []line{
		w.fact("Plan", p.Name),
		w.fact("Phase", p.Phase+" since "+w.moment(p.Changed)),
		w.fact("Reason", p.Reason+", decision "+p.Decision),
		w.fact("Policy", p.Policy),
		w.fact("Proposed", w.optional(p.Proposed, "before the ledger begins")),
		w.fact("By", cmp.Or(p.By, "not decided by a user")),
		w.fact("NodePools", listed(p.NodePools, len(p.NodePools), len(p.NodePools))),
	}
	if p.Why != "" {
		out = append(out, section("Why"))
		out = append(out, w.prose("  "+p.Why)...)
	}
	out = append(out, section(fmt.Sprintf("Nodes (%d)", len(p.Nodes))))
	for _, n := range p.Nodes {
		out = append(out, line{{text: "  " + n}})
	}
	return out
}

func (w writer) budgetPage(b *view.Budgets) []line {
	out := []line{w.fact("NodePool", b.NodePool), w.fact("Nodes", strconv.Itoa(b.Nodes)), section("What is allowed now")}
	for _, a := range b.Allowances {
		text := "  " + a.Reason + ": no limit"
		switch {
		case a.Error != "":
			text = "  " + a.Reason + ": nothing, " + a.Error
		case a.Closed != nil:
			text = "  " + a.Reason + ": nothing, " + a.Closed.Message
		case a.Allowed != nil:
			text = fmt.Sprintf("  %s: %d at a time, %d more now", a.Reason, *a.Allowed, a.Remaining)
		}
		out = append(out, w.prose(text)...)
	}
	out = append(out, section("Budgets"))
	for _, budget := range b.Budgets {
		text := "  " + budget.Nodes + " nodes for " + cmp.Or(strings.Join(budget.Reasons, ", "), "all reasons")
		if !budget.InForce {
			text += ", not in force"
		}
		if budget.Changes != nil {
			text += ", changes " + w.moment(*budget.Changes)
		}
		if budget.Error != "" {
			text += ": " + budget.Error
		}
		out = append(out, w.prose(text)...)
	}
	out = append(out, section(fmt.Sprintf("Nodes that count against them (%d)", len(b.Disrupting))))
	for _, d := range b.Disrupting {
		out = append(out, w.prose("  "+d.Node+": "+d.Why)...)
	}
	return out
}
