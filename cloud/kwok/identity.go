package kwok

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

const (
	// providerIDPrefix is the prefix of the provider ID of every simulated instance; the Node's name follows.
	providerIDPrefix = "kwok://"
	// maxClaimPart limits how much of the claim's name is in the Node's name, which may have 253 characters.
	maxClaimPart = 200
	// maxLabelValue is the maximum length of a label value.
	maxLabelValue = 63
)

// lot is the pseudorandom properties of an instance. They derive from the claim's UID, so that a restart after a
// crash gives the same instance.
type lot struct {
	choice uint64
	words  [2]uint16
	number uint32
}

func draw(uid types.UID) lot {
	sum := sha256.Sum256([]byte(uid))
	return lot{
		choice: binary.BigEndian.Uint64(sum[0:]),
		words:  [2]uint16{binary.BigEndian.Uint16(sum[8:]), binary.BigEndian.Uint16(sum[10:])},
		number: binary.BigEndian.Uint32(sum[12:]),
	}
}

// nodeName is kwok-<nodeclaim>-<two words>-<number>.
func nodeName(claim *v1.NodeClaim) string {
	l := draw(claim.UID)
	first, second := firstWords(), secondWords()
	part := claim.Name
	if len(part) > maxClaimPart {
		part = strings.TrimRight(part[:maxClaimPart], "-.")
	}
	return fmt.Sprintf("kwok-%s-%s-%s-%d", part,
		first[int(l.words[0])%len(first)], second[int(l.words[1])%len(second)], l.number)
}

// providerID is the provider id of the instance whose Node has the given name.
func providerID(nodeName string) string { return providerIDPrefix + nodeName }

// nodeNameOf is the Node's name in a provider ID; false when the ID belongs to another provider.
func nodeNameOf(providerID string) (string, bool) {
	name, ok := strings.CutPrefix(providerID, providerIDPrefix)
	return name, ok && name != ""
}

// hostname is the host name of the claim's instance: the claim's name, or its start and a number if the name is too
// long for a label.
func hostname(claim *v1.NodeClaim) string {
	if len(claim.Name) <= maxLabelValue {
		return claim.Name
	}
	tail := fmt.Sprintf("-%d", draw(claim.UID).number)
	return strings.TrimRight(claim.Name[:maxLabelValue-len(tail)], "-.") + tail
}

// choose picks the cheapest offering. Exotic types are left out unless there are no others; claims with minValues keep them, because
// their types are chosen for variety. Among equally cheap offerings the lot decides, so that instances spread over zones and types and
// the choice for each claim is deterministic.
func choose(offerings *cloud.OfferingList, claim *v1.NodeClaim) (cloud.Candidate, error) {
	best := cheapest(offerings, claim, hasMinValues(claim))
	if len(best) == 0 {
		best = cheapest(offerings, claim, true)
	}
	if len(best) == 0 {
		return cloud.Candidate{}, cloud.NewInsufficientCapacityError(offerings.Refusal(claim))
	}
	return best[draw(claim.UID).choice%uint64(len(best))], nil
}

// cheapest returns the offerings with the lowest price for a claim, with or without those of exotic types.
func cheapest(offerings *cloud.OfferingList, claim *v1.NodeClaim, exotic bool) []cloud.Candidate {
	var best []cloud.Candidate
	for c := range offerings.Candidates(claim) {
		if len(best) > 0 && c.Offering.Price > best[0].Offering.Price {
			break
		}
		if exotic || !c.Type.Exotic {
			best = append(best, c)
		}
	}
	return best
}

func hasMinValues(claim *v1.NodeClaim) bool {
	return slices.ContainsFunc(claim.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool { return r.MinValues != nil })
}

func firstWords() []string {
	return []string{
		"amber", "brave", "brisk", "calm", "clear", "coral", "crisp", "deep", "early", "fair", "fleet", "fresh", "gentle",
		"glad", "golden", "grand", "keen", "late", "light", "lucky", "merry", "mild", "noble", "plain", "proud", "quick",
		"quiet", "ready", "silver", "steady", "still", "swift",
	}
}

func secondWords() []string {
	return []string{
		"acorn", "badger", "beacon", "birch", "brook", "cedar", "cliff", "comet", "crane", "delta", "ember", "falcon",
		"fern", "finch", "fjord", "grove", "harbor", "heron", "island", "lagoon", "lark", "maple", "meadow", "otter",
		"pebble", "pine", "raven", "reef", "ridge", "river", "stone", "willow",
	}
}
