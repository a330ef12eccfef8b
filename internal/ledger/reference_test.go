package ledger_test

import (
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/test/referencepage"
)

var update = flag.Bool("update", false, "rewrite docs/reference/ledger.md")

// structures are the structs of records, in the order of the page.
func structures() referencepage.Structs {
	return referencepage.Structs{
		Names: []string{
			"Record", "Start", "Fleet", "NodeClaimState", "Pass", "Cost", "Provisioning", "PlannedNodeClaim", "Placement", "Unschedulable",
			"PoolReason", "Names", "Disruption", "Command", "LeftAlone", "CommandEvent", "NodeObstacle", "NodeClaimEvent", "Saving", "PlanEvent", "Answer", "Coverage",
		},
		Texts: []string{"Kind", "Phase", "Outcome", "SavingEvent", "SavingEnd"},
		Selected: func(_, name string) string {
			if name == "RawMessage" {
				return referencepage.Link("Record")
			}
			return "text"
		},
		Commented: true,
	}
}

// TestReference checks that the reference page is up to date, and has all structs.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Records of the ledger\n\n")
	b.WriteString("Generated from `internal/ledger` by `go test ./internal/ledger -update`; do not edit.\n\n")
	fmt.Fprintf(&b, "A record is a JSON object. This is version %d of the format. [The ledger](../ledger.md) says where records are and how to read them. A field\n", ledger.Version)
	b.WriteString("that is empty, or zero, is left out where *optional* is shown. Times are in RFC 3339. Fields of a type in *italics* are those of that type, at the\nsame level.\n")
	b.WriteString(structures().Sections(t))
	referencepage.Check(t, "../../docs/reference/ledger.md", b.String(), *update)
}

// TestAllStructuresAreDocumented: what a record can contain is on the page.
func TestAllStructuresAreDocumented(t *testing.T) {
	of := reflect.TypeFor[ledger.Record]()
	structures().Covers(t, of)
	structures().Covers(t, reflect.TypeFor[ledger.Answer]())
	for _, kind := range ledger.Kinds() {
		if !slices.ContainsFunc(reflect.VisibleFields(of), func(f reflect.StructField) bool {
			return strings.HasPrefix(f.Tag.Get("json"), string(kind)+",")
		}) {
			t.Errorf("records have no field for the kind %s", kind)
		}
	}
}
