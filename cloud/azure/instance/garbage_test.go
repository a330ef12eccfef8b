package instance_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
)

func TestOrphanNICs(t *testing.T) {
	t.Attr("covers", "Z246")
	got := instance.OrphanNICs([]string{"aks-VM", "aks-Claim", "aks-orphan"}, []*instance.Instance{{Name: "aks-vm"}}, []string{"claim", "orphan2"})
	if diff := cmp.Diff([]string{"aks-orphan"}, got); diff != "" {
		t.Errorf("orphans (-want +got):\n%s", diff)
	}
}
