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
	of := func(kind, group string) func(*v1.NodePool) {
		return func(p *v1.NodePool) {
			p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: group, Kind: kind, Name: "default"}
		}
	}
	foreign := of("MoonNodeClass", "karpenter.example.com")
	event := func(kind, meant string) []string {
		return []string{"Warning UnsupportedNodeClass pool: The NodeClass is a " + kind + "; this controller supports KWOKNodeClass.karpenter.kwok.sh, " +
			"and no other controller has set a condition: nothing is launched" + meant}
	}
	const meant = "; did you mean KWOKNodeClass.karpenter.kwok.sh? Group and kind of nodeClassRef are immutable: delete the NodePool and create it again"
	for name, c := range map[string]struct {
		change func(*v1.NodePool)
		age    time.Duration
		want   []string
	}{
		"of this cloud":             {func(*v1.NodePool) {}, time.Hour, nil},
		"new":                       {foreign, 59 * time.Second, nil},
		"of no controller":          {foreign, time.Minute, event("MoonNodeClass.karpenter.example.com", "")},
		"of a mistyped group":       {of("KWOKNodeClass", "kwok.karpenter.sh"), time.Minute, event("KWOKNodeClass.kwok.karpenter.sh", meant)},
		"of a mistyped kind":        {of("KwokNodeclass", "karpenter.kwok.sh"), time.Minute, event("KwokNodeclass.karpenter.kwok.sh", meant)},
		"of a kind that looks like": {of("KWKNodeClass", "karpenter.kwk.sh"), time.Minute, event("KWKNodeClass.karpenter.kwk.sh", "")},
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
