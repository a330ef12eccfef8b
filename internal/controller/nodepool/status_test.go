package nodepool_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodepool"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

func TestReadiness(t *testing.T) {
	t.Attr("covers", "C178 C179 C180 C181 C182")
	class := func(change func(*kwok.KWOKNodeClass)) *kwok.KWOKNodeClass {
		out := fakecluster.Class()
		change(out)
		return out
	}
	for name, c := range map[string]struct {
		class    *kwok.KWOKNodeClass
		deleting bool
		want     string
	}{
		"missing":     {nil, false, "False/NodeClassNotFound/NodeClass not found on cluster"},
		"terminating": {class(func(c *kwok.KWOKNodeClass) { c.Finalizers = []string{"x.com/y"} }), true, "False/NodeClassTerminating/NodeClass is Terminating"},
		"ready":       {fakecluster.Class(), false, "True/NodeClassReady/"},
		"not ready":   {class(func(c *kwok.KWOKNodeClass) { c.Status.Conditions = ready("False") }), false, "False/NoImage/no image found"},
		"unknown":     {class(func(c *kwok.KWOKNodeClass) { c.Status.Conditions = ready("Unknown") }), false, "False/NodeClassReadinessUnknown/Node Class Readiness Unknown"},
		"silent":      {class(func(c *kwok.KWOKNodeClass) { c.Status.Conditions = nil }), false, "False/NodeClassReadinessUnknown/Node Class Readiness Unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t, fakecluster.Pool())
			if c.class != nil {
				w.Add(c.class)
			}
			if c.deleting {
				w.Delete(c.class)
			}
			w.Run(validation(w), fakecluster.Pool())
			w.Run(nodepool.NewReadiness(w.Shared), fakecluster.Pool())
			conditions := fakecluster.Must(w, fakecluster.Pool()).Status.Conditions
			if got := fakecluster.Condition(conditions, "NodeClassReady"); got != c.want {
				t.Errorf("NodeClassReady %q, want %q", got, c.want)
			}
			wantReady, _, _ := strings.Cut(c.want, "/")
			if got, _, _ := strings.Cut(fakecluster.Condition(conditions, "Ready"), "/"); got != wantReady {
				t.Errorf("Ready %q, want %q", got, wantReady)
			}
		})
	}
	t.Run("a conflict is retried quietly", func(t *testing.T) {
		w := fakecluster.New(t, fakecluster.Pool())
		w.Fail = fakecluster.Always("patch-status", &v1.NodePool{}, fakecluster.Conflict())
		if result := w.Run(nodepool.NewReadiness(w.Shared), fakecluster.Pool()); result != requeue.Soon() {
			t.Errorf("result %+v", result)
		}
	})
}

func TestValidation(t *testing.T) {
	t.Attr("covers", "C183 C184 C185 C186 C187")
	capacityTypes := func(values ...string) func(*v1.NodePool) {
		return func(p *v1.NodePool) {
			p.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: v1.CapacityTypeLabelKey, Operator: "In", Values: values}}
		}
	}
	for name, c := range map[string]struct {
		pool  func(*v1.NodePool)
		valid bool
	}{
		"a plain NodePool":            {func(*v1.NodePool) {}, true},
		"known capacity types":        {capacityTypes("spot", "on-demand"), true},
		"some unknown capacity types": {capacityTypes("spot", "cheap"), true},
		"only unknown capacity types": {capacityTypes("cheap"), false},
		"a restricted label":          {func(p *v1.NodePool) { p.Spec.Template.Labels = map[string]string{"karpenter.sh/custom": "x"} }, false},
		"the key of a taint is too long": {func(p *v1.NodePool) {
			p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: strings.Repeat("a", 64), Effect: "NoSchedule"}}
		}, false},
		"the key of a startup taint is too long": {func(p *v1.NodePool) {
			p.Spec.Template.Spec.StartupTaints = []corev1.Taint{{Key: strings.Repeat("a", 64), Effect: "NoSchedule"}}
		}, false},
		"the key of a label is too long": {func(p *v1.NodePool) {
			p.Spec.Template.Labels = map[string]string{strings.Repeat("a", 64): "x"}
		}, false},
		"the key of a requirement is too long": {func(p *v1.NodePool) {
			p.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: strings.Repeat("a", 64), Operator: "Exists"}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pool := fakecluster.Pool()
			c.pool(pool)
			w := fakecluster.New(t, pool)
			w.Run(validation(w), pool)
			got := fakecluster.Condition(fakecluster.Must(w, pool).Status.Conditions, "ValidationSucceeded")
			if c.valid && got != "True/ValidationSucceeded/" || !c.valid && !strings.HasPrefix(got, "False/NodePoolValidationFailed/") {
				t.Errorf("got %q", got)
			}
		})
	}
}

// usage is fixed resource usage by NodePool.
type usage map[string]corev1.ResourceList

func (u usage) PoolUsage(pool string) (corev1.ResourceList, bool) { return u[pool], u != nil }

func TestCounter(t *testing.T) {
	t.Attr("covers", "C172 C174 C175 C177")
	one := int64(1)
	for name, c := range map[string]struct {
		usage usage
		want  v1.NodePoolStatus
		after time.Duration
	}{
		"no node": {
			usage{}, v1.NodePoolStatus{Nodes: new(int64), Resources: fakecluster.Resources("cpu", "0", "memory", "0", "pods", "0", "ephemeral-storage", "0", "nodes", "0")}, 5 * time.Second,
		},
		"one node": {
			usage{"pool": fakecluster.Resources("cpu", "4", "nodes", "1", "example.com/gpu", "2")},
			v1.NodePoolStatus{Nodes: &one, Resources: fakecluster.Resources("cpu", "4", "memory", "0", "pods", "0", "ephemeral-storage", "0", "nodes", "1", "example.com/gpu", "2")},
			5 * time.Second,
		},
		"the cluster state is not synced": {nil, v1.NodePoolStatus{}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t, fakecluster.Pool())
			if result := w.Run(nodepool.NewCounter(w.Shared, c.usage), fakecluster.Pool()); result.RequeueAfter != c.after {
				t.Errorf("result %+v", result)
			}
			if diff := cmp.Diff(c.want, fakecluster.Must(w, fakecluster.Pool()).Status); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("usage returns to zero, extended resources too", func(t *testing.T) {
		t.Attr("covers", "C174")
		w := fakecluster.New(t, fakecluster.Pool())
		w.Run(nodepool.NewCounter(w.Shared, usage{"pool": fakecluster.Resources("nodes", "3", "example.com/gpu", "2")}), fakecluster.Pool())
		w.Run(nodepool.NewCounter(w.Shared, usage{}), fakecluster.Pool())
		got := fakecluster.Must(w, fakecluster.Pool()).Status
		if _, ok := got.Resources["example.com/gpu"]; ok || *got.Nodes != 0 {
			t.Errorf("status %+v", got)
		}
	})
	t.Run("nothing is written while nothing changes", func(t *testing.T) {
		w := fakecluster.New(t, fakecluster.Pool())
		c := nodepool.NewCounter(w.Shared, usage{"pool": fakecluster.Resources("cpu", "4000m", "nodes", "1")})
		w.Run(c, fakecluster.Pool())
		before := fakecluster.Must(w, fakecluster.Pool()).ResourceVersion
		w.Run(c, fakecluster.Pool())
		if fakecluster.Must(w, fakecluster.Pool()).ResourceVersion != before {
			t.Error("it was written again")
		}
	})
}

func TestUnmanagedPoolsAreLeftAlone(t *testing.T) {
	t.Attr("covers", "C164 C176")
	pool := fakecluster.Pool()
	pool.Spec.Template.Spec.NodeClassRef = fakecluster.Unmanaged()
	w := fakecluster.New(t, pool, fakecluster.Class())
	before := fakecluster.Must(w, pool).ResourceVersion
	for _, r := range []reconcile.Reconciler{
		nodepool.NewReadiness(w.Shared), validation(w), nodepool.NewHash(w.Shared), nodepool.NewCounter(w.Shared, usage{}),
	} {
		w.Run(r, pool)
		if fakecluster.Must(w, pool).ResourceVersion != before {
			t.Fatalf("%T wrote", r)
		}
	}
}

func TestHash(t *testing.T) {
	annotations := func(hash, version string) map[string]string {
		return map[string]string{v1.NodePoolHashAnnotationKey: hash, v1.NodePoolHashVersionAnnotationKey: version}
	}
	t.Run("the hash follows the static fields", func(t *testing.T) {
		t.Attr("covers", "C164 C165 C166")
		w := fakecluster.New(t, fakecluster.Pool())
		h := nodepool.NewHash(w.Shared)
		run := func(change func(*v1.NodePool)) string {
			fakecluster.Change(w, fakecluster.Pool(), change)
			w.Run(h, fakecluster.Pool())
			got := fakecluster.Must(w, fakecluster.Pool())
			if got.Annotations[v1.NodePoolHashVersionAnnotationKey] != "v3" || got.Annotations[v1.NodePoolHashAnnotationKey] != got.Hash() {
				t.Errorf("annotations %v", got.Annotations)
			}
			return got.Annotations[v1.NodePoolHashAnnotationKey]
		}
		first := run(func(*v1.NodePool) {})
		weight := int32(7)
		if run(func(p *v1.NodePool) { p.Spec.Weight = &weight }) != first {
			t.Error("the weight is hashed")
		}
		if run(func(p *v1.NodePool) { p.Spec.Template.Labels = map[string]string{"a": "b"} }) == first {
			t.Error("template labels are not hashed")
		}
	})
	t.Run("a new way of hashing reaches the claims first", func(t *testing.T) {
		t.Attr("covers", "C167 C168 C169 C170")
		pool := fakecluster.Pool()
		pool.Annotations = annotations("1", "v2")
		w := fakecluster.New(t, pool)
		plain, drifted, current, unmanaged := w.Claim("plain"), w.Claim("drifted"), w.Claim("current"), w.Claim("unmanaged")
		for _, claim := range []*v1.NodeClaim{plain, drifted, unmanaged} {
			claim.Annotations = annotations("1", "v2")
		}
		current.Annotations = annotations("own", "v3")
		unmanaged.Spec.NodeClassRef = fakecluster.Unmanaged()
		drifted.Status.Conditions = []metav1.Condition{{Type: "Drifted", Status: "True", Reason: "X"}}
		w.Add(plain, drifted, current, unmanaged)
		w.Run(nodepool.NewHash(w.Shared), pool)
		hash := pool.Hash()
		for claim, want := range map[*v1.NodeClaim]map[string]string{
			plain: annotations(hash, "v3"), drifted: annotations("1", "v3"), current: annotations("own", "v3"), unmanaged: annotations("1", "v2"),
		} {
			if diff := cmp.Diff(want, fakecluster.Must(w, claim).Annotations); diff != "" {
				t.Errorf("%s (-want +got):\n%s", claim.Name, diff)
			}
		}
		if diff := cmp.Diff(annotations(hash, "v3"), fakecluster.Must(w, pool).Annotations); diff != "" {
			t.Errorf("NodePool (-want +got):\n%s", diff)
		}
	})
	t.Run("the NodePool waits for its claims", func(t *testing.T) {
		pool := fakecluster.Pool()
		w := fakecluster.New(t, pool)
		claim := w.Claim("a")
		w.Add(claim)
		w.Fail = fakecluster.Always("patch", claim, fakecluster.Conflict())
		if _, err := w.Try(nodepool.NewHash(w.Shared), pool); err == nil {
			t.Error("the failure was swallowed")
		}
		if len(fakecluster.Must(w, pool).Annotations) != 0 {
			t.Error("the NodePool says that all have moved")
		}
	})
}
