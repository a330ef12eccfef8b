package nodeclaim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestNodeClaimsAreCheckedWhenTheirPoolIsEdited checks that they are not whenever a node of the pool comes or goes.
func TestNodeClaimsAreCheckedWhenTheirPoolIsEdited(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1.NodePool)
		want   bool
	}{
		"its usage changes": {func(p *v1.NodePool) {
			p.Status.Resources = corev1.ResourceList{v1.ResourceNodes: resource.MustParse("7")}
		}, false},
		"its template changes": {func(p *v1.NodePool) { p.Generation++ }, true},
		"its hash is written":  {func(p *v1.NodePool) { p.Annotations = map[string]string{v1.NodePoolHashAnnotationKey: "1"} }, true},
	} {
		was, is := &v1.NodePool{}, &v1.NodePool{}
		c.change(is)
		if got := edited().Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is}); got != c.want {
			t.Errorf("%s: checked %t, want %t", name, got, c.want)
		}
	}
}
