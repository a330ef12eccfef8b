package nodeoverlay_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeoverlay"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/overlay"
)

// shop is a cloud with one type, which cannot be listed for some pools.
type shop struct {
	cloud.Provider
	unlisted map[string]bool
}

var errShop = errors.New("the shop is closed")

func (s *shop) InstanceTypes(_ context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	if s.unlisted[pool.Name] {
		return nil, errShop
	}
	return []*cloud.InstanceType{{
		Name:         "small",
		Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelInstanceTypeStable, "small")},
		Offerings:    []cloud.Offering{{Price: 1, Available: true}},
	}}, nil
}

// scene is a fake cluster with the controller and its store.
type scene struct {
	*fakecluster.Cluster
	shop       *shop
	store      *overlay.Store
	controller reconcile.Reconciler
}

func newScene(t *testing.T, objects ...client.Object) *scene {
	t.Helper()
	s := &scene{Cluster: fakecluster.New(t, objects...), shop: &shop{unlisted: map[string]bool{}}, store: &overlay.Store{}}
	s.Cloud.Provider = s.shop
	s.controller = nodeoverlay.New(s.Shared, s.store)
	return s
}

// run reconciles once.
func (s *scene) run() (reconcile.Result, error) {
	return s.controller.Reconcile(s.Context(), reconcile.Request{})
}

// settle reconciles and fails the test on an error.
func (s *scene) settle() reconcile.Result {
	s.Helper()
	result, err := s.run()
	if err != nil {
		s.Fatal(err)
	}
	return result
}

// price is the price of the instance type for a pool, or a text when there is none.
func (s *scene) price(pool string) any {
	s.Helper()
	provider := overlay.Decorate(s.shop, s.store)
	types, err := provider.InstanceTypes(s.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: pool}})
	switch {
	case cloud.IsUnevaluatedNodePool(err):
		return "unevaluated"
	case err != nil:
		return err.Error()
	}
	return types[0].Offerings[0].Price
}

// state is the conditions of an overlay.
func (s *scene) state(name string) map[string]string {
	s.Helper()
	conditions := fakecluster.Must(s.Cluster, named(name, "")).Status.Conditions
	return map[string]string{
		"ValidationSucceeded": fakecluster.Condition(conditions, "ValidationSucceeded"),
		"Ready":               fakecluster.Condition(conditions, "Ready"),
	}
}

func pool(name string) *v1.NodePool {
	out := fakecluster.Pool()
	out.Name = name
	return out
}

func named(name, price string) *v1alpha1.NodeOverlay {
	out := &v1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	if price != "" {
		out.Spec.Price = &price
	}
	return out
}

func TestOverlaysComeIntoForce(t *testing.T) {
	t.Attr("covers", "L359")
	s := newScene(t, pool("p"), named("o", "7"))
	if got := s.price("p"); got != "unevaluated" {
		t.Errorf("before the first evaluation the price is %v", got)
	}
	if result := s.settle(); result != requeue.After(6*time.Hour) {
		t.Errorf("runs again in %v, want 6h", result)
	}
	if got := s.price("p"); got != 7.0 {
		t.Errorf("price %v, want 7", got)
	}
	want := map[string]string{"ValidationSucceeded": "True/ValidationSucceeded/", "Ready": "True/Ready/"}
	if diff := cmp.Diff(want, s.state("o")); diff != "" {
		t.Error(diff)
	}
	s.Delete(named("o", ""))
	s.settle()
	if got := s.price("p"); got != 1.0 {
		t.Errorf("price %v without overlays, want the cloud's", got)
	}
}

func TestInvalidOverlaysAreReported(t *testing.T) {
	t.Attr("covers", "L360 L361")
	invalid := named("invalid", "5")
	invalid.Spec.Requirements = []v1alpha1.NodeSelectorRequirement{{Key: "example.com/a", Operator: "NotIn"}}
	s := newScene(t, pool("p"), named("b", "7"), named("a", "8"), invalid)
	s.settle()
	for overlay, want := range map[string]string{
		"a":       "False/Conflict/conflict with another overlay",
		"b":       "True/ValidationSucceeded/",
		"invalid": `False/RuntimeValidation/spec.requirements[0]: key "example.com/a": operator NotIn needs at least one value`,
	} {
		if got := s.state(overlay)["ValidationSucceeded"]; got != want {
			t.Errorf("%s: %s, want %s", overlay, got, want)
		}
	}
	if got := s.state("a")["Ready"]; !strings.HasPrefix(got, "False/") {
		t.Errorf("Ready of an overlay in conflict: %s", got)
	}
	if got := s.price("p"); got != 7.0 {
		t.Errorf("price %v, want that of b", got)
	}
	s.Delete(named("b", ""))
	s.settle()
	if got := s.state("a")["ValidationSucceeded"]; got != "True/ValidationSucceeded/" || s.price("p") != 8.0 {
		t.Errorf("with the conflict gone: %s, price %v", got, s.price("p"))
	}
}

// TestConditionsThatStandAreNotWritten: a failing overlay keeps the time at which it started to fail.
func TestConditionsThatStandAreNotWritten(t *testing.T) {
	s := newScene(t, pool("p"), named("b", "7"), named("a", "8"))
	s.settle()
	before := fakecluster.Must(s.Cluster, named("a", ""))
	s.Time.Step(time.Hour)
	s.Fail = fakecluster.Always("patch-status", &v1alpha1.NodeOverlay{}, errors.New("nothing to write"))
	s.settle()
	if diff := cmp.Diff(before, fakecluster.Must(s.Cluster, named("a", ""))); diff != "" {
		t.Errorf("the overlay was written again\n%s", diff)
	}
}

func TestOneFailingPoolDoesNotDelayOthers(t *testing.T) {
	t.Attr("covers", "L369")
	s := newScene(t, pool("good"), pool("bad"), named("o", "7"))
	s.shop.unlisted["bad"] = true
	if result, err := s.run(); !errors.Is(err, errShop) || result != (reconcile.Result{}) {
		t.Errorf("%v, %v, want the error, for a retry", result, err)
	}
	if got := s.state("o")["ValidationSucceeded"]; got != "True/ValidationSucceeded/" || s.price("good") != 7.0 {
		t.Errorf("the other pool: %s, price %v", got, s.price("good"))
	}
	s.shop.unlisted["bad"] = false
	if got := s.price("bad"); got != "unevaluated" {
		t.Errorf("the failing pool has the price %v", got)
	}
	if result := s.settle(); result != requeue.After(6*time.Hour) || s.price("bad") != 7.0 {
		t.Errorf("after a retry that went well: %v, price %v", result, s.price("bad"))
	}
}

func TestCorrectionsAndConditionsChangeTogether(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		result reconcile.Result
		fails  bool
	}{
		"a conflict":              {fakecluster.Conflict(), requeue.Soon(), false},
		"an overlay that is gone": {fakecluster.NotFound(), requeue.Soon(), false},
		"anything else":           {errShop, reconcile.Result{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, pool("p"), named("a", "7"))
			s.Fail = fakecluster.Always("patch-status", &v1alpha1.NodeOverlay{}, c.err)
			result, err := s.run()
			if result != c.result || (err != nil) != c.fails {
				t.Errorf("%v, %v, want %v, an error: %t", result, err, c.result, c.fails)
			}
			if got := s.price("p"); got != "unevaluated" {
				t.Errorf("price %v although the condition of the overlay is not written", got)
			}
			s.Fail = nil
			s.settle()
			if got := s.price("p"); got != 7.0 {
				t.Errorf("price %v after the write went through", got)
			}
		})
	}
}

func TestForeignPoolsAreLeftAlone(t *testing.T) {
	foreign := pool("foreign")
	foreign.Spec.Template.Spec.NodeClassRef = fakecluster.Unmanaged()
	s := newScene(t, foreign, pool("p"), named("o", "7"))
	s.shop.unlisted["foreign"] = true
	s.settle()
	if got := s.price("p"); got != 7.0 {
		t.Errorf("price %v", got)
	}
}

func TestRegister(t *testing.T) {
	w := fakecluster.New(t)
	w.Register(t, nodeoverlay.New(w.Shared, &overlay.Store{}))
}
