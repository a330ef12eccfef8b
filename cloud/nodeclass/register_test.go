package nodeclass

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// TestDeletionsOfNodeClaims checks that the end of a NodeClaim reconciles its class only if that waits for it.
func TestDeletionsOfNodeClaims(t *testing.T) {
	finalizers := []string{"example.com/wait"}
	deleted := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "deleted", Finalizers: finalizers}}
	used := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "used", Finalizers: finalizers}}
	c := apiserver.New().WithObjects(deleted, used).Build()
	if err := c.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	s := &Status[*v1beta1.AKSNodeClass]{
		Kind: Kind[*v1beta1.AKSNodeClass]{Group: v1beta1.Group, Name: "AKSNodeClass", New: func() *v1beta1.AKSNodeClass { return &v1beta1.AKSNodeClass{} }}, Client: c,
	}
	for name, test := range map[string]struct {
		group string
		want  int
	}{"deleted": {v1beta1.Group, 1}, "used": {v1beta1.Group, 0}, "gone": {v1beta1.Group, 0}} {
		claim := &v1.NodeClaim{}
		claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: test.group, Kind: "AKSNodeClass", Name: name}
		if got := s.waitingFor(t.Context(), claim); len(got) != test.want || test.want == 1 && got[0].Name != name {
			t.Errorf("the end of a NodeClaim of class %q reconciles %v", name, got)
		}
	}
	other := &v1.NodeClaim{}
	other.Spec.NodeClassRef = &v1.NodeClassReference{Group: "karpenter.k8s.aws", Name: "deleted"}
	if got := s.waitingFor(t.Context(), other); len(got) > 0 {
		t.Errorf("the end of a NodeClaim of another cloud reconciles %v", got)
	}
}
