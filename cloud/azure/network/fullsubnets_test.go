package network_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/network"
	"github.com/karpenter-anew/karpenter/cloud/azure/subnet"
)

// fullWorld is what launches found out about subnets.
type fullWorld struct {
	*network.FullSubnets
	t     *testing.T
	clock *clocktesting.FakeClock
}

func newFullWorld(t *testing.T, plugin instancetype.Network) fullWorld {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	return fullWorld{network.NewFullSubnets(clock, plugin, "/subnets/nodes"), t, clock}
}

// expect checks for how long a subnet is still full; 0 for one that is not.
func (w fullWorld) expect(when string, class *v1beta1.AKSNodeClass, free int, want time.Duration) {
	w.t.Helper()
	_, until, full := w.Check(class, free)
	if full != (want > 0) || full && until.Sub(w.clock.Now()) != want {
		w.t.Errorf("%s: full %t until %s, want for %s", when, full, until, want)
	}
}

func classIn(name, subnet string) *v1beta1.AKSNodeClass {
	out := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if subnet != "" {
		out.Spec.VNETSubnetID = &subnet
	}
	return out
}

func overlay() instancetype.Network {
	return instancetype.Network{Plugin: instancetype.PluginAzure, Mode: instancetype.ModeOverlay}
}

// TestFullSubnetsAreRetried checks how long a subnet is left alone, and that classes are told.
func TestFullSubnetsAreRetried(t *testing.T) {
	w := newFullWorld(t, overlay())
	own, named, other := classIn("own", ""), classIn("named", "/Subnets/NODES"), classIn("other", "/subnets/other")
	w.expect("at first", own, 0, 0)
	for _, want := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, 40 * time.Minute} {
		w.Failed(own)
		w.expect("after a failure", named, subnet.UnknownFree, want)
		w.clock.Step(time.Minute)
		w.Failed(named) // a launch that began earlier
		w.expect("after another failure", own, 0, want-time.Minute)
		w.expect("another subnet", other, 0, 0)
		w.clock.Step(want - time.Minute)
		w.expect("in the end", own, 0, 0)
	}
	w.clock.Step(time.Hour)
	w.Failed(own)
	w.expect("much later", own, 0, 5*time.Minute)
	if first := <-w.Changed; first.Object.GetName() != "own" {
		t.Errorf("changed: %s", first.Object.GetName())
	}
	for range 2 * cap(w.Changed) { // nothing reads
		w.Failed(own)
	}
}

// TestAddressesThatAreFreedEndIt checks that more free addresses than before have launches tried, and a constant number does not: Azure may keep
// addresses that it does not count.
func TestAddressesThatAreFreedEndIt(t *testing.T) {
	w := newFullWorld(t, overlay())
	own := classIn("own", "")
	w.Failed(own)
	for _, free := range []int{7, 7, subnet.UnknownFree, 6, 6} {
		w.expect("not more than before", own, free, 5*time.Minute)
	}
	w.expect("one more", own, 7, 0)
	w.Failed(own)
	w.expect("full again", own, 7, 10*time.Minute)
}

// TestLaunchesEndIt checks that a later launch, of a node with as many addresses, shows that a subnet is not full any more.
func TestLaunchesEndIt(t *testing.T) {
	w := newFullWorld(t, instancetype.Network{Plugin: instancetype.PluginAzure})
	large, small := classIn("large", ""), classIn("small", "")
	large.Spec.MaxPods, small.Spec.MaxPods = new(int32(100)), new(int32(10))
	before := w.clock.Now()
	w.clock.Step(time.Second)
	w.Failed(large)
	if addresses, _, full := w.Check(large, 50); addresses != 100 || !full {
		t.Errorf("%d addresses, full %t", addresses, full)
	}
	w.expect("for a node that takes fewer", small, 50, 0)
	w.Launched(large, before)
	w.Launched(small, w.clock.Now().Add(time.Second))
	w.expect("after launches that show nothing", large, 50, 5*time.Minute)
	w.expect("with more addresses, but too few", large, 99, 5*time.Minute)
	w.clock.Step(time.Second)
	w.Failed(small)
	w.expect("for a node that takes fewer, after its launch failed", small, 50, 5*time.Minute-time.Second)
	w.Launched(small, w.clock.Now())
	w.expect("after a launch", small, 50, 0)
	w.Failed(small)
	w.expect("after the next failure", small, 50, 5*time.Minute)
}
