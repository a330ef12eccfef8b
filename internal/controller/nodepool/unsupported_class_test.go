package nodepool_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodepool"
)

// TestUnsupportedNodeClass: an event names the kind that is unknown and those that are known, once it is clear that the NodePool is not that of
// another controller.
func TestUnsupportedNodeClass(t *testing.T) {
	foreign := func(p *v1.NodePool) {
		p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: "karpenter.example.com", Kind: "MoonNodeClass", Name: "default"}
	}
	const event = "Warning UnsupportedNodeClass pool: The NodeClass is a MoonNodeClass.karpenter.example.com; this controller supports KWOKNodeClass.karpenter.kwok.sh, " +
		"and no other controller has set a condition: nothing is launched"
	for name, c := range map[string]struct {
		change func(*v1.NodePool)
		age    time.Duration
		want   []string
	}{
		"of this cloud":    {func(*v1.NodePool) {}, time.Hour, nil},
		"new":              {foreign, 59 * time.Second, nil},
		"of no controller": {foreign, time.Minute, []string{event}},
		"of another controller": {func(p *v1.NodePool) {
			foreign(p)
			p.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Ready", LastTransitionTime: metav1.Unix(1, 0)}}
		}, time.Hour, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w, pool := fakecluster.New(t), fakecluster.Pool()
			c.change(pool)
			pool.CreationTimestamp = metav1.NewTime(w.Time.Now().Add(-c.age))
			w.Add(pool)
			result := w.Run(nodepool.NewUnsupportedClass(w.Shared), pool)
			if got := w.Events(); !slices.Equal(got, c.want) {
				t.Errorf("events %q, want %q", got, c.want)
			}
			if name == "new" && result.RequeueAfter != time.Second {
				t.Errorf("looks again after %s", result.RequeueAfter)
			}
		})
	}
}
