package resource

import (
	"fmt"
	"strings"
)

// The resources of caps on cost: what an instance type costs at most, in millionths of a dollar per hour. Pods cannot request them.
const (
	// CostOfPool counts against the cap of a NodePool, CostOfCluster against that of all nodes.
	CostOfPool    = "ops.karpenter.sh/nodepool-cost"
	CostOfCluster = "ops.karpenter.sh/cluster-cost"
)

// IsCost reports whether name is a resource of caps on cost.
func IsCost(name string) bool { return name == CostOfPool || name == CostOfCluster }

// FormatNamed is Format for a resource with a name: costs are rendered in dollars.
func FormatNamed(name string, i int, amount int64) string {
	if IsCost(name) {
		return FormatCost(amount)
	}
	return Format(i, amount)
}

const (
	costDecimals = 6
	perDollar    = 1_000_000
)

// FormatCost renders millionths of a dollar per hour for people, such as $12.50/h.
func FormatCost(amount int64) string {
	sign := ""
	if amount < 0 {
		sign, amount = "-", -amount
	}
	fraction := strings.TrimRight(fmt.Sprintf("%0*d", costDecimals, amount%perDollar), "0")
	for len(fraction) < 2 {
		fraction += "0"
	}
	return fmt.Sprintf("%s$%d.%s/h", sign, amount/perDollar, fraction)
}
