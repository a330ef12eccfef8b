package problem

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Standing are the commands without those that move pods of nodes that are gone or being deleted: a command that waits is rejected
// then, and the pods, which run or wait elsewhere by now, must not be counted where it would have moved them.
func Standing(commands []disrupt.Command, snapshot *model.Snapshot) []disrupt.Command {
	return slices.DeleteFunc(slices.Clone(commands), func(c disrupt.Command) bool {
		return slices.ContainsFunc(c.Candidates, func(candidate disrupt.Candidate) bool {
			n, ok := snapshot.Nodes.Get(candidate.Node.ID)
			return !ok || n.Deleting || n.ClaimName != candidate.Node.ClaimName
		})
	})
}
