package view_test

import (
	"flag"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/view"
	"github.com/karpenter-anew/karpenter/test/referencepage"
)

var update = flag.Bool("update", false, "rewrite docs/reference/console.md")

// structures are the structs of views, in the order of the page.
func structures() referencepage.Structs {
	return referencepage.Structs{
		Names: []string{
			"Head", "Fleet", "Node", "Amounts", "Totals", "NodeDetail", "Pod", "Why", "Pending", "PendingGroup", "PlannedNode", "Moves", "Command", "Plan", "Budgets",
			"Cost", "Priced", "Point", "Bound", "Saved", "WorkloadCost", "Pools", "Pool", "Condition", "Offering", "Timeline", "Gap", "Moment",
		},
		Texts: []string{"State", "CommandState"},
		Selected: func(_, name string) string {
			if name == "Kind" || name == "State" {
				return "text"
			}
			return ""
		},
	}
}

// TestReference checks that the reference page is up to date, and has all structs.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Views of the console\n\n")
	b.WriteString("Generated from `internal/view` by `go test ./internal/view -update`; do not edit.\n\n")
	fmt.Fprintf(&b, "[The console](../console.md) serves these documents as JSON. This is version %s of the schema. Times are in RFC 3339. A field that is empty\n", view.Version)
	b.WriteString("is left out where *optional* is shown; lists are never null. Fields of a type in *italics* are those of that type, at the same level. Types of\n")
	b.WriteString("`explain` are described in [Explain](../explain.md), those of `ledger` in [Records of the ledger](ledger.md), and those of `simulated` in\n[Simulate](../simulate.md).\n")
	b.WriteString(structures().Sections(t))
	referencepage.Check(t, "../../docs/reference/console.md", b.String(), *update)
}

// TestAllStructuresAreDocumented: what a view can contain is on the page.
func TestAllStructuresAreDocumented(t *testing.T) {
	for _, of := range []any{view.Fleet{}, view.NodeDetail{}, view.Pending{}, view.Moves{}, view.Cost{}, view.Pools{}, view.Timeline{}} {
		structures().Covers(t, reflect.TypeOf(of))
	}
}
