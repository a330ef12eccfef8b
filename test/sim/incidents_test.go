package sim

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// incident is a scene in which a defect would show that clusters with a node autoscaler have had.
type incident struct {
	name, set string
	// then happens after half of the time with faults.
	then func(*Cluster)
	// check is called at the end of the time with faults. It returns what is wrong.
	check func(*Cluster) string
}

var incidents = []incident{
	{name: "launches without capacity are repeated for ever", set: "NoCapacity=0.7 Outage=30 Every=30s"},
	{name: "nodes are replaced by their own type for ever", set: "Scale=60 ConsolidateAfter=0s Every=20s Budget=100 Plain=true"},
	{
		name: "drift of a pool without capacity starves the others", set: "Static=3 EditPool=0 Every=30s Plain=true NoCapacity=0 DeleteNode=0 DeleteClaim=0 Die=0 Reboots=0s Unhealthy=0s",
		then:  func(c *Cluster) { c.Datacenter.failing = "fixed"; c.Datacenter.outdate() },
		check: replacedElsewhere,
	},
	{name: "NodeClaims hang after a lost write of their status", set: "Lose=0.2 Refuse=0.1 Every=20s"},
	{name: "cluster state waits for a NodeClaim that was deleted", set: "DeleteClaim=60 Relist=0.3 Crash=0.005 Every=20s"},
	{name: "all nodes expire at once", set: "ExpireAfter=3m Every=30s EditPool=0 DeleteNode=0 DeleteClaim=0 Die=0 Reboots=0s Unhealthy=0s"},
	{name: "nodes stay after their capacity buffer was deleted", set: "Buffer=6 Every=60m", then: withoutBuffer},
	{name: "parallel launches exceed a limit", set: "Nodes=4 Every=5s Static=2 StaticLimit=3 EditStatic=20 MinLag=500ms MaxLag=3s"},
	{
		name: "a webhook rejects writes", set: "Every=30s",
		then: func(c *Cluster) { c.Faults.Deny = "Node" },
	},
	{name: "labels arrive after the node", set: "LateLabels=true Every=20s"},
	{name: "nodes are deleted by hand while they drain", set: "Guarded=1 DeleteNode=60 EditPool=30 Every=15s MaxKubelet=10s"},
	{
		name: "volumes that are never detached hold nodes", set: "Stateful=60 NoDetach=1 Grace=30s Every=10s DeleteNode=30",
		then: func(c *Cluster) {
			for _, n := range All[corev1.Node](c.API) {
				c.User.remove(n)
			}
		},
		check: heldByVolumes,
	},
	{name: "pods wait for nodes that reboot, and drains for pods", set: "Reboots=15s Guarded=1 Protected=1000 Every=20s NoReturn=0.2"},
	{name: "nodes are rebooted for ever, because that does not help", set: "Unhealthy=20s Reboots=0s Every=60s"},
	{name: "the cloud does not list instances whose kubelets report", set: "MaxListLag=4m Every=30s"},
	{name: "kubelets stop reporting, and instances die without a controller that deletes their nodes", set: "Silent=30 Die=30 NoNodeController=true Every=20s MaxListLag=0s"},
}

// TestIncidents: defects of the past do not show.
func TestIncidents(t *testing.T) {
	for _, i := range incidents {
		t.Run(i.name, func(t *testing.T) {
			c := mustRun(t, simulation{seed: *seed, set: i.setting(), hours: incidentHours, quiet: *quiet, incident: &i})
			for _, v := range c.Violations {
				t.Error(v)
			}
			if c.Datacenter.Launched() == 0 {
				t.Error("nothing happened")
			}
		})
	}
}

// incidentHours is the simulated time with faults.
const incidentHours = 0.08

func (i *incident) setting() string { return "Types=12 MaxPods=30 Stateful=0 " + i.set }

// withoutBuffer deletes the capacity buffer: its nodes are empty from now on.
func withoutBuffer(c *Cluster) {
	for _, b := range All[v1beta1.CapacityBuffer](c.API) {
		_ = c.API.Delete(b, metav1.DeleteOptions{})
	}
	c.User.scene.Buffer = 0
}

// replacedElsewhere says which pool that has capacity has only nodes with an old image.
func replacedElsewhere(c *Cluster) string {
	current, old := 0, 0
	for _, claim := range All[v1.NodeClaim](c.API) {
		if i := c.Datacenter.instance(claim.Status.ProviderID); i == nil || claim.Labels[v1.NodePoolLabelKey] != "default" {
			continue
		} else if i.Image == c.Datacenter.image {
			current++
		} else {
			old++
		}
	}
	if old > 0 && current == 0 {
		return fmt.Sprintf("all %d nodes of the default pool have an old image", old)
	}
	return ""
}

// heldByVolumes says whether no volume was stuck, or no instance ended with one.
func heldByVolumes(c *Cluster) string {
	if n := c.Faults.Counts["stuck volume"]; n == 0 {
		return "no volume was stuck"
	}
	if c.invariants.forced == 0 {
		return "no instance ended with a volume at its deadline"
	}
	return ""
}
