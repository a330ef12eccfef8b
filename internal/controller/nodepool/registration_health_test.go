package nodepool_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodepool"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

const (
	isHealthy   = "True/NodeRegistrationHealthy/"
	notKnown    = "Unknown/AwaitingReconciliation/object is awaiting reconciliation"
	failedToday = "False/RegistrationFailed/Failed to register node"
)

func healthOf(w *fakecluster.Cluster) string {
	return fakecluster.Condition(fakecluster.Must(w, fakecluster.Pool()).Status.Conditions, "NodeRegistrationHealthy")
}

// report reports one claim per letter: s registered, f did not register, l did not launch.
func report(w *fakecluster.Cluster, h *nodepool.RegistrationHealth, sequence string) {
	w.Helper()
	for i, letter := range sequence {
		claim := w.LaunchedClaim(string(letter) + string(rune('a'+i)))
		var err error
		switch letter {
		case 's':
			err = h.Succeeded(w.Context(), claim)
		case 'l':
			condition.For(claim, w.Time.Now()).Unknown(v1.ConditionTypeLaunched, "LaunchFailed", "no quota")
			fallthrough
		default:
			err = h.Failed(w.Context(), claim)
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

func TestRegistrationHealth(t *testing.T) {
	t.Attr("covers", "C193 C194 C195 C197")
	for name, c := range map[string]struct{ sequence, want string }{
		"first sight":                               {"", notKnown},
		"a success":                                 {"s", isHealthy},
		"one failure changes nothing":               {"f", notKnown},
		"two failures":                              {"ff", failedToday},
		"two failures after a success":              {"sff", failedToday},
		"launches that fail say why":                {"ll", "False/LaunchFailed/no quota"},
		"a further failure keeps the first message": {"ffl", failedToday},
		"one success after two failures":            {"ffs", failedToday},
		"three successes after two failures":        {"ffsss", isHealthy},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t, fakecluster.Pool(), fakecluster.Class())
			h := nodepool.NewRegistrationHealth(w.Shared)
			w.Run(h, fakecluster.Pool())
			report(w, h, c.sequence)
			if got := healthOf(w); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("a restart keeps what is known", func(t *testing.T) {
		t.Attr("covers", "C198")
		for sequence, c := range map[string]struct{ next, want string }{"s": {"f", isHealthy}, "ff": {"s", failedToday}} {
			w := fakecluster.New(t, fakecluster.Pool(), fakecluster.Class())
			h := nodepool.NewRegistrationHealth(w.Shared)
			w.Run(h, fakecluster.Pool())
			report(w, h, sequence)
			restarted := nodepool.NewRegistrationHealth(w.Shared)
			w.Run(restarted, fakecluster.Pool())
			report(w, restarted, c.next)
			if got := healthOf(w); got != c.want {
				t.Errorf("after %s, a restart and %s: %q, want %q", sequence, c.next, got, c.want)
			}
		}
	})
	for name, change := range map[string]func(*fakecluster.Cluster){
		"NodePool": func(w *fakecluster.Cluster) {
			fakecluster.Change(w, fakecluster.Pool(), func(p *v1.NodePool) { p.Generation = 2 })
		},
		"NodeClass": func(w *fakecluster.Cluster) {
			fakecluster.Change(w, fakecluster.Class(), func(c *kwok.KWOKNodeClass) { c.Generation = 2 })
		},
	} {
		t.Run("nothing is known after a change of the "+name, func(t *testing.T) {
			t.Attr("covers", "C197")
			w := fakecluster.New(t, fakecluster.Pool(), fakecluster.Class())
			h := nodepool.NewRegistrationHealth(w.Shared)
			w.Run(h, fakecluster.Pool())
			report(w, h, "ff")
			change(w)
			w.Run(h, fakecluster.Pool())
			if got := healthOf(w); got != notKnown {
				t.Errorf("got %q", got)
			}
			report(w, h, "s")
			if got := healthOf(w); got != isHealthy {
				t.Errorf("the memory was not emptied: %q", got)
			}
		})
	}
	t.Run("claims of another, a recreated or a deleted NodePool change nothing", func(t *testing.T) {
		t.Attr("covers", "C196")
		w := fakecluster.New(t, fakecluster.Pool(), fakecluster.Class())
		h := nodepool.NewRegistrationHealth(w.Shared)
		w.Run(h, fakecluster.Pool())
		before := fakecluster.Must(w, fakecluster.Pool()).ResourceVersion
		stray, recreated, orphan := w.LaunchedClaim("a"), w.LaunchedClaim("b"), w.LaunchedClaim("c")
		delete(stray.Labels, v1.NodePoolLabelKey)
		recreated.OwnerReferences[0].UID = "earlier"
		orphan.Labels[v1.NodePoolLabelKey] = "deleted"
		for _, claim := range []*v1.NodeClaim{stray, recreated, orphan} {
			if err := h.Succeeded(w.Context(), claim); err != nil {
				t.Error(err)
			}
		}
		if fakecluster.Must(w, fakecluster.Pool()).ResourceVersion != before {
			t.Error("the NodePool was written")
		}
	})
	t.Run("nothing is said without a NodeClass or for an unmanaged NodePool", func(t *testing.T) {
		t.Attr("covers", "C199")
		unmanaged := fakecluster.Pool()
		unmanaged.Name = "unmanaged"
		unmanaged.Spec.Template.Spec.NodeClassRef = fakecluster.Unmanaged()
		w := fakecluster.New(t, fakecluster.Pool(), unmanaged)
		h := nodepool.NewRegistrationHealth(w.Shared)
		for _, pool := range []*v1.NodePool{fakecluster.Pool(), unmanaged} {
			w.Run(h, pool)
			if got := fakecluster.Must(w, pool).Status.Conditions; len(got) != 0 {
				t.Errorf("%s: %v", pool.Name, got)
			}
		}
	})
	t.Run("a conflict is returned and the report can be repeated", func(t *testing.T) {
		w := fakecluster.New(t, fakecluster.Pool(), fakecluster.Class())
		h := nodepool.NewRegistrationHealth(w.Shared)
		w.Run(h, fakecluster.Pool())
		w.Fail = fakecluster.Always("patch-status", &v1.NodePool{}, fakecluster.Conflict())
		if err := h.Succeeded(w.Context(), w.LaunchedClaim("a")); !apierrors.IsConflict(err) {
			t.Errorf("error %v", err)
		}
		fakecluster.Change(w, fakecluster.Pool(), func(p *v1.NodePool) { p.Generation = 5 })
		if result := w.Run(h, fakecluster.Pool()); result != requeue.Soon() {
			t.Errorf("result %+v", result)
		}
		w.Fail = nil
		if err := h.Succeeded(w.Context(), w.LaunchedClaim("a")); err != nil || healthOf(w) != isHealthy {
			t.Errorf("error %v, %q", err, healthOf(w))
		}
	})
}

func ready(status metav1.ConditionStatus) []metav1.Condition {
	return []metav1.Condition{{Type: "Ready", Status: status, Reason: "NoImage", Message: "no image found", LastTransitionTime: metav1.Now()}}
}
