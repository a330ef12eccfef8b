package provider_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/garbage"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
)

// stormNodes is how many nodes are launched at once while a share of the calls is throttled and a share of the launches fails. 500 take half a
// minute of a processor with -race.
var stormNodes = flag.Int("storm", 100, "number of nodes of TestStorm")

const (
	stormThrottled, stormFailed = 0.02, 0.2
	// stormReads is how often a launched node may be read, its deletion and what failed before it included.
	stormReads = 6
)

// TestStorm launches many NodeClaims at once, kills the process in the middle, goes on with another one, and deletes everything. Nothing is left.
func TestStorm(t *testing.T) {
	w := newWorldOf(t, settings.ModeScriptless, func(*settings.Settings) {}, azuretest.Options{Sizes: azuretest.ManySizes()})
	for _, size := range azuretest.ManySizes() {
		w.account.Limit(size.Family, 100_000)
	}
	w.account.Limit("cores", 100_000)
	w.account.Limit("lowPriorityCores", 100_000)
	w.account.ReserveNICs(azuretest.NICReservation)
	w.account.Storm(stormThrottled, stormFailed, 1)
	s := &storm{world: w}

	ctx, kill := context.WithCancel(t.Context())
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for len(w.account.IDs(vms)) < *stormNodes/3 {
			<-tick.C
		}
		kill()
		w.kill()
	}()
	s.launch(ctx)
	<-killed
	w.end()
	w.restart()
	for _, claim := range s.claims() {
		if claim.Status.ProviderID != "" {
			if err := w.provider.Launcher.Resume(t.Context(), claim); err != nil {
				t.Error(err)
			}
		}
	}
	rounds := 0
	for launched := 0; launched < *stormNodes; rounds++ {
		if rounds == 20 {
			t.Fatalf("after %d rounds, %d of %d nodes are launched", rounds, launched, *stormNodes)
		}
		s.launch(t.Context())
		w.settled()
		launched = s.launched()
	}
	requested, failures := w.account.StormFailures()
	placed := len(w.account.Calls(""))
	s.deleteAll()
	s.check(requested, failures, placed, rounds)
}

// storm has the NodeClaims of nodes, and does what controllers do with them.
type storm struct {
	*world
	mu       sync.Mutex
	attempts int
}

// claims are the NodeClaims that there are.
func (s *storm) claims() []*v1.NodeClaim {
	s.t.Helper()
	list := &v1.NodeClaimList{}
	if err := s.client.List(s.t.Context(), list); err != nil {
		s.t.Fatal(err)
	}
	out := make([]*v1.NodeClaim, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out
}

// launch launches all nodes that have no launched NodeClaim, at once. It returns when each has been launched or the process has ended.
func (s *storm) launch(ctx context.Context) {
	have := map[string]*v1.NodeClaim{}
	for _, claim := range s.claims() {
		have[claim.Labels["node"]] = claim
	}
	var all sync.WaitGroup
	for i := range *stormNodes {
		node := fmt.Sprintf("n%d", i)
		claim := have[node]
		if claim == nil {
			claim = s.create(node)
		}
		if claim.Status.ProviderID == "" {
			all.Go(func() { s.launchOne(ctx, node, claim) })
		}
	}
	all.Wait()
}

// create creates a NodeClaim for a node.
func (s *storm) create(node string) *v1.NodeClaim {
	s.mu.Lock()
	s.attempts++
	name := fmt.Sprintf("%s-%d", node, s.attempts)
	s.mu.Unlock()
	return s.labelled(name, map[string]string{"node": node}, in(v1.CapacityTypeLabelKey, v1.CapacityTypeSpot, v1.CapacityTypeOnDemand))
}

// launchOne launches a NodeClaim, and another one in place of it if there is no capacity for it. Errors are retried, as by the queue of a controller.
func (s *storm) launchOne(ctx context.Context, node string, claim *v1.NodeClaim) {
	for {
		launched, err := s.provider.Create(ctx, claim)
		switch {
		case ctx.Err() != nil:
			return // killed before anything was written
		case err == nil:
			claim.Labels, claim.Annotations = launched.Labels, launched.Annotations
			s.write(s.client.Update(s.t.Context(), claim))
			claim.Status = launched.Status
			condition.For(claim, s.clock.Now()).True(v1.ConditionTypeLaunched)
			s.write(s.client.Status().Update(s.t.Context(), claim))
			return
		case cloud.IsInsufficientCapacity(err):
			s.write(s.client.Delete(s.t.Context(), claim))
			claim = s.create(node)
		}
	}
}

// write reports an error of a write; the NodeClaim may be gone because its launch has failed.
func (s *storm) write(err error) {
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Error(err)
	}
}

// launched counts the nodes with a virtual machine.
func (s *storm) launched() int {
	count := 0
	for _, claim := range s.claims() {
		if claim.Status.ProviderID != "" && s.account.Exists(azuretest.ID(vms, "aks-"+claim.Name)) {
			count++
		}
	}
	return count
}

// deleteAll deletes all NodeClaims with their instances, and what garbage collection finds.
func (s *storm) deleteAll() {
	t := s.t
	t.Helper()
	list, err := s.provider.List(t.Context())
	if err != nil || len(list) != *stormNodes {
		t.Errorf("%d instances are listed, %v", len(list), err)
	}
	var all sync.WaitGroup
	for _, claim := range s.claims() {
		all.Go(func() {
			for range 2 { // as a controller that asks again before it is gone
				if err := s.provider.Delete(t.Context(), claim); err != nil && !cloud.IsNodeClaimNotFound(err) {
					t.Error(err)
				}
			}
			s.write(s.client.Delete(t.Context(), claim))
		})
	}
	all.Wait()
	s.settled()
	interfaces := &garbage.NetworkInterfaces{Instances: s.instances, Client: s.client}
	s.clock.Step(azuretest.NICReservation)
	if err := interfaces.Collect(t.Context()); err != nil {
		t.Error(err)
	}
}

// check checks what happened, and that nothing is left.
func (s *storm) check(requested int, failures map[string]int, placed, rounds int) {
	t := s.t
	t.Helper()
	for _, kind := range []string{vms, vms + "/extensions", "Microsoft.Compute/disks", nics} {
		if left := s.account.IDs(kind); len(left) > 0 {
			t.Errorf("%d %s are left: %s", len(left), kind, strings.Join(left[:1], ""))
		}
	}
	failed := 0
	for _, count := range failures {
		failed += count
	}
	if failed < requested/8 || failed > requested/3 || len(failures) < 4 {
		t.Errorf("%d of %d launches failed: %v", failed, requested, failures)
	}
	all, reads := s.account.Calls(""), s.count("GET virtualMachines")
	if reads > stormReads*(*stormNodes) {
		t.Errorf("virtual machines were read %d times", reads)
	}
	t.Logf("%d nodes after %d launches, %d rounds and one kill: %v; %.1f calls for each node until all are launched, %.1f in all, %.1f of them reads of the virtual machine",
		*stormNodes, requested, rounds, failures, float64(placed)/float64(*stormNodes), float64(len(all))/float64(*stormNodes), float64(reads)/float64(*stormNodes))
}
