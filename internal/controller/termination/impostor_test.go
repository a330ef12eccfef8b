package termination

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

// TestANodeDoesNotChooseTheInstanceThatEnds has a Node whose kubelet claims, by labels, annotations and an owner, to be that of another
// NodeClaim.
func TestANodeDoesNotChooseTheInstanceThatEnds(t *testing.T) {
	impersonate := func(d *dying) {
		d.node.Labels["karpenter.sh/nodeclaim"], d.node.Labels[v1.NodePoolLabelKey] = "victim", "other"
		d.node.Annotations = map[string]string{"karpenter.sh/nodeclaim": "victim", v1.NodeClaimTerminationTimestampAnnotationKey: "2000-01-01T00:00:00Z"}
		d.node.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1.SchemeGroupVersion.String(), Kind: "NodeClaim", Name: "victim", UID: types.UID("victim-uid")}}
	}
	t.Run("another NodeClaim", func(t *testing.T) {
		d := newDying(t, impersonate)
		victim := d.LaunchedClaim("victim", v1.ConditionTypeRegistered, v1.ConditionTypeInitialized)
		d.Add(victim, d.RegisteredNode("victim"))
		for range 4 {
			d.pass()
		}
		if fakecluster.Must(d.Cluster, d.claim).DeletionTimestamp == nil {
			t.Error("the NodeClaim with the provider ID of the Node is not deleted")
		}
		if fakecluster.Must(d.Cluster, victim).DeletionTimestamp != nil {
			t.Error("the NodeClaim that the Node names is deleted")
		}
		instance, err := d.Provider.Get(t.Context(), victim.Status.ProviderID)
		if err != nil || instance.DeletionTimestamp != nil {
			t.Errorf("the instance that the Node names is %+v, %v", instance, err)
		}
	})
	t.Run("an instance without a NodeClaim", func(t *testing.T) {
		d := newDying(t, func(d *dying) {
			impersonate(d)
			d.claim = nil
		})
		for range 4 {
			d.pass()
		}
		if n := d.Provider.Calls("Delete"); n != 0 {
			t.Errorf("the provider was asked for %d deletions because of a Node alone", n)
		}
	})
}
