package nodeclass_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
)

// TestFullSubnets checks what a class says of its subnet after a launch found no addresses, and when it is looked at again.
func TestFullSubnets(t *testing.T) {
	for _, c := range []struct {
		addresses int
		left      time.Duration
		again     time.Duration
		message   string
	}{
		{1, 5 * time.Minute, time.Minute, "Subnet " + clusterSubnet + " has too few free addresses for another node, which needs one: set spec.vnetSubnetID to a larger subnet, or free addresses. Nodes are launched again at 2026-05-01T12:05:00Z, or within a minute after addresses are freed"},
		{30, 10 * time.Second, 10 * time.Second, "which needs 30 with its pods: set spec.vnetSubnetID to a larger subnet, lower spec.maxPods, or free addresses."},
	} {
		w := newWorld(t, nil)
		w.settled()
		w.free, w.addresses, w.fullUntil = 0, c.addresses, w.clock.Now().Add(c.left)
		class, again := w.settled()
		expect(t, class, v1beta1.ConditionTypeSubnetsReady, "False SubnetFull")
		expect(t, class, v1beta1.ConditionTypeReady, "False UnhealthyDependents")
		at := slices.IndexFunc(class.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1beta1.ConditionTypeSubnetsReady })
		if message := class.Status.Conditions[at].Message; !strings.Contains(message, c.message) || again != c.again {
			t.Errorf("again after %s, message %s", again, message)
		}
		version := class.ResourceVersion
		if class, _ = w.settled(); class.ResourceVersion != version {
			t.Error("written again without a change")
		}
		w.free = 1
		class, again = w.settled()
		expect(t, class, v1beta1.ConditionTypeReady, "True")
		if again != 3*time.Minute {
			t.Errorf("again after %s", again)
		}
	}
}
