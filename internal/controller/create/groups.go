package create

import (
	"slices"
	"sync"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// Groups remembers which NodeClaims were created together for the pods of one PodGroup, until they are launched.
//
// Problem: a gang runs on all of its nodes or not at all. Where one of them cannot be launched, the others would be launched in vain.
// Approach: the creator records the NodeClaims of a group with their pods, and how many pods the group needs of them. The controller that
// fails to launch one asks which of the others are of no use now, and deletes those that are not launched.
//
// It may be lost: after a restart, nodes that are launched in vain stay until consolidation finds them empty.
//
// It is safe for concurrent use. A nil Groups remembers nothing.
type Groups struct {
	mu sync.Mutex
	// of has the group of each NodeClaim by its name.
	of *ttlcache.Cache[string, *groupClaims]
}

// groupClaims are the NodeClaims of a group.
type groupClaims struct {
	// needed is how many pods have to get a place on the NodeClaims.
	needed int
	// pods is how many pods of the group each NodeClaim is for.
	pods map[string]int
	// alone are the NodeClaims that have no other pods.
	alone map[string]bool
}

// NewGroups returns Groups without any NodeClaims.
func NewGroups(c clock.PassiveClock) *Groups {
	return &Groups{of: ttlcache.New[string, *groupClaims](c, keptFor)}
}

// Record remembers the NodeClaims of a group, with the number of its pods on each. needed of these pods have to get a place there. alone
// are the NodeClaims that have no other pods.
func (g *Groups) Record(needed int, pods map[string]int, alone map[string]bool) {
	if g == nil || len(pods) < 2 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	together := &groupClaims{needed: needed, pods: pods, alone: alone}
	for name := range pods {
		g.of.Set(name, together)
	}
}

// Failed forgets a NodeClaim that cannot be launched, and returns the names of those that are of no use without it, sorted. It returns them
// once.
func (g *Groups) Failed(name string) []string {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	together, known := g.of.Get(name)
	if !known {
		return nil
	}
	g.of.Delete(name)
	delete(together.pods, name)
	left := 0
	for _, pods := range together.pods {
		left += pods
	}
	if left >= together.needed {
		return nil
	}
	var useless []string
	for other := range together.pods {
		g.of.Delete(other)
		if together.alone[other] {
			useless = append(useless, other)
		}
	}
	together.pods = nil
	slices.Sort(useless)
	return useless
}
