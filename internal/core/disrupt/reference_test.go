package disrupt

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/test/referencepage"
)

var update = flag.Bool("update", false, "rewrite docs/reference/obstacles.md")

func eventOf(r Rule, events map[Event]string) string {
	if r.Code.OfPool() {
		return "`NodeRepairBlocked`"
	}
	return events[r.Event]
}

// TestReference checks that the reference page is up to date.
func TestReference(t *testing.T) {
	events := map[Event]string{
		NoEvent: "none", DisruptionBlocked: "`DisruptionBlocked`", Unconsolidatable: "`Unconsolidatable`",
	}
	var b strings.Builder
	b.WriteString("# Disruption obstacles\n\n")
	b.WriteString("Generated from `internal/core/disrupt` by `go test ./internal/core/disrupt -update`; do not edit.\n\n")
	b.WriteString("An obstacle is why a node is not disrupted. [`karpenter explain`](../explain.md) shows the obstacles of a node with their codes, the\n")
	b.WriteString("controller publishes some of them as events of the Node and the NodeClaim.\n")
	for _, r := range Rules() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n- Remedy: %s\n- Event: %s\n", r.Code, r.Text, r.Remedy, eventOf(r, events))
		if r.Waivable {
			b.WriteString("- Exception: drift does not wait for it where the NodePool has a `terminationGracePeriod`.\n")
		}
	}
	referencepage.Check(t, "../../../docs/reference/obstacles.md", b.String(), *update)
}
