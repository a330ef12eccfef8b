package instance_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
)

func TestOrphans(t *testing.T) {
	t.Attr("covers", "Z246")
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	aged := func(name string, age time.Duration) *instance.Instance {
		return &instance.Instance{ID: "/subscriptions/s/resourceGroups/MC_G/providers/Microsoft.Compute/virtualMachines/" + name, Name: name, Created: now.Add(-age)}
	}
	deleting := aged("aks-deleting", time.Hour)
	deleting.Deleting = true
	malformed := aged("aks-malformed", time.Hour)
	malformed.ID = "aks-malformed"
	instances := []*instance.Instance{
		aged("aks-old", 5*time.Minute+time.Second), aged("aks-young", 5*time.Minute), aged("aks-owned", time.Hour), aged("aks-older", time.Hour),
		deleting, malformed,
	}
	owned := []string{"", "azure:///subscriptions/s/resourceGroups/mc_g/providers/microsoft.compute/virtualMachines/AKS-owned"}
	var got []string
	for _, orphan := range instance.Orphans(instances, owned, now) {
		got = append(got, orphan.Name)
	}
	if diff := cmp.Diff([]string{"aks-old", "aks-older"}, got); diff != "" {
		t.Errorf("orphans (-want +got):\n%s", diff)
	}
	if instances[1].Name != "aks-young" {
		t.Error("the list of the caller was changed")
	}
}

func TestOrphanNICs(t *testing.T) {
	t.Attr("covers", "Z246")
	got := instance.OrphanNICs([]string{"aks-VM", "aks-Claim", "aks-orphan"}, []*instance.Instance{{Name: "aks-vm"}}, []string{"claim", "orphan2"})
	if diff := cmp.Diff([]string{"aks-orphan"}, got); diff != "" {
		t.Errorf("orphans (-want +got):\n%s", diff)
	}
}
