package launch

import (
	"cmp"
	"slices"
	"strconv"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// onePartition keeps, for a claim that does not take every partition of its placement group, the lowest one that is to be had, and names
// it: a launch is for one partition, or EC2 chooses among all.
func onePartition(candidates []cloud.Candidate, want requirement.Set) (string, []cloud.Candidate) {
	if takesAnyPartition(want) {
		return "", candidates
	}
	partition := func(c cloud.Candidate) string { return c.Offering.Label(awsv1.LabelPlacementGroupPartition) }
	number := func(c cloud.Candidate) int {
		n, _ := strconv.Atoi(partition(c)) // the offering was made from a number
		return n
	}
	lowest := partition(slices.MinFunc(candidates, func(a, b cloud.Candidate) int { return cmp.Compare(number(a), number(b)) }))
	return lowest, keep(candidates, func(c cloud.Candidate) bool { return partition(c) == lowest })
}

// takesAnyPartition reports whether a claim has no requirement on the partition other than that it exists.
func takesAnyPartition(want requirement.Set) bool {
	if !want.Has(awsv1.LabelPlacementGroupPartition) {
		return true
	}
	allowed := want.Get(awsv1.LabelPlacementGroupPartition)
	_, low := allowed.Low()
	_, high := allowed.High()
	return allowed.Complement() && len(allowed.Values()) == 0 && !low && !high
}
