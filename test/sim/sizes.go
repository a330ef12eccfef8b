package sim

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const (
	// fillBound is how long a static pool may have fewer NodeClaims than its limit allows.
	fillBound = 3 * time.Minute
	// emptyNodeBound is how long an empty node may stay after consolidateAfter where nothing fails.
	emptyNodeBound = 3 * time.Minute
	// waitBound is how long a pod that arrives alone may wait for a NodeClaim where nothing fails. The batch of pods ends after a second.
	waitBound = 7 * time.Second
)

// tally counts the NodeClaims of a pool: all, those that are not being deleted, and of these the initialized ones.
type tally struct{ all, live, running int64 }

// count adds a NodeClaim to the tally of its pool n times, which may be negative; nil counts nowhere.
func (i *invariants) count(claim *v1.NodeClaim, n int64) {
	if claim == nil {
		return
	}
	pool := claim.Labels[v1.NodePoolLabelKey]
	t := i.tallies[pool]
	t.all += n
	if claim.DeletionTimestamp == nil {
		t.live += n
		if condition.Status(claim, v1.ConditionTypeInitialized) == metav1.ConditionTrue {
			t.running += n
		}
	}
	i.tallies[pool] = t
}

// filled: static pools have as many nodes as they ask for.
func (i *invariants) filled() {
	s, f := &i.cluster.User.scene, i.cluster.Faults
	for name, pool := range i.pools {
		if pool.Spec.Replicas == nil {
			continue
		}
		want, n := *pool.Spec.Replicas, i.tallies[name]
		if limit, limited := pool.Spec.Limits.Nodes(); limited {
			want = min(want, limit-n.all+n.live)
		}
		if n.live >= want || f.NoCapacity > 0 || !f.mild() {
			delete(i.lacking, name)
		} else if since, known := i.lacking[name]; !known {
			i.lacking[name] = time.Now()
		} else if time.Since(since) > fillBound {
			i.violated("static pool not filled", "%s has %d NodeClaims, %d wanted", name, n.live, want)
		}
		// Where nodes are replaced only, a replacement runs before its node is deleted.
		replaced := s.EditStatic+s.DeleteNode+s.DeleteClaim+s.Die+s.Silent == 0 && s.ExpireAfter == 0 && s.Reboots+s.Unhealthy == 0
		i.full[name] = i.full[name] || n.running >= *pool.Spec.Replicas
		if replaced && i.full[name] && n.running < *pool.Spec.Replicas {
			i.violated("static pool below its replicas", "%s has %d nodes, %d wanted", name, n.running, *pool.Spec.Replicas)
		}
	}
}

// emptied: empty nodes are removed.
func (i *invariants) emptied() {
	s, f := &i.cluster.User.scene, i.cluster.Faults
	if !s.WhenEmpty || s.Budget < 100 || s.Buffer > 0 || f.Crash+f.Handover > 0 || !f.mild() {
		return
	}
	used := map[string]bool{}
	for _, pod := range i.pods {
		used[pod.Spec.NodeName] = true
	}
	for _, claim := range i.claims {
		pool := i.pools[claim.Labels[v1.NodePoolLabelKey]]
		if used[claim.Status.NodeName] || pool == nil || pool.Spec.Replicas != nil || claim.DeletionTimestamp != nil || isRebooting(claim) ||
			condition.Status(claim, v1.ConditionTypeInitialized) != metav1.ConditionTrue {
			delete(i.empty, claim.Name)
		} else if since, known := i.empty[claim.Name]; !known {
			i.empty[claim.Name] = time.Now()
		} else if time.Since(since) > s.ConsolidateAfter+emptyNodeBound+f.MaxJump {
			i.violated("empty node stays", "%s", claim.Name)
		}
	}
}

// waiting: where nothing fails, a pod that arrives while no node starts has a NodeClaim soon.
func (i *invariants) waiting() {
	if !i.cluster.Faults.perfect() || !i.calm() {
		return
	}
	for _, claim := range i.claims {
		if condition.Status(claim, v1.ConditionTypeInitialized) != metav1.ConditionTrue {
			return
		}
	}
	for _, pod := range i.pods {
		if pod.Spec.NodeName == "" && time.Since(pod.CreationTimestamp.Time) > waitBound {
			i.violated("pod waits", "%s", pod.Name)
		}
	}
}

// spare says which replicas of the capacity buffer have no place.
func (i *invariants) spare() (out []string) {
	wanted := i.cluster.User.scene.Buffer
	if wanted == 0 {
		return nil
	}
	one, used, places := resource.MustParse(bufferCPU), map[string]int64{}, 0
	for _, pod := range i.pods {
		used[pod.Spec.NodeName] += pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
	}
	for _, node := range i.nodes {
		if disrupted(node) || node.DeletionTimestamp != nil {
			continue
		}
		places += int(max(node.Status.Allocatable.Cpu().MilliValue()-used[node.Name], 0) / one.MilliValue())
	}
	if places < wanted {
		out = append(out, fmt.Sprintf("the buffer has places for %d of %d replicas", places, wanted))
	}
	return out
}
