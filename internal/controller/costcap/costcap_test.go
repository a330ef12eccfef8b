package costcap_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/costcap"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
)

var (
	zones         = []string{"zone-1", "zone-2"}
	capacityTypes = []string{"on-demand", "spot"}
)

// instanceType has an offering in every zone and capacity type, for which price is called. Some are unavailable.
func instanceType(name string, price func() float64, available func() bool) *cloud.InstanceType {
	it := &cloud.InstanceType{Name: name, Requirements: []v1.NodeSelectorRequirementWithMinValues{
		cloud.In(corev1.LabelInstanceTypeStable, name), cloud.In(corev1.LabelTopologyZone, zones...), cloud.In(v1.CapacityTypeLabelKey, capacityTypes...),
	}}
	for _, zone := range zones {
		for _, kind := range capacityTypes {
			it.Offerings = append(it.Offerings, cloud.Offering{
				Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelTopologyZone, zone), cloud.In(v1.CapacityTypeLabelKey, kind)},
				Price:        price(), Available: available(),
			})
		}
	}
	return it
}

func capped(name string, caps opsv1alpha1.Caps) *opsv1alpha1.OperationsPolicy {
	return &opsv1alpha1.OperationsPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: opsv1alpha1.OperationsPolicySpec{Caps: &caps}}
}

// claimOf is a NodeClaim that permits these values of labels; none for any.
func claimOf(w *fakecluster.Cluster, pool string, types, inZones, kinds []string) *v1.NodeClaim {
	claim := w.Claim("")
	claim.Name, claim.UID, claim.GenerateName = "", "", pool+"-"
	claim.Labels[v1.NodePoolLabelKey] = pool
	for key, values := range map[string][]string{corev1.LabelInstanceTypeStable: types, corev1.LabelTopologyZone: inZones, v1.CapacityTypeLabelKey: kinds} {
		if values != nil {
			claim.Spec.Requirements = append(claim.Spec.Requirements, cloud.In(key, values...))
		}
	}
	return claim
}

// lagging is a cache that shows the NodeClaims of an earlier moment.
type lagging struct {
	client.Reader
	mu     sync.Mutex
	claims v1.NodeClaimList
}

func (l *lagging) catchUp(w *fakecluster.Cluster) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims = v1.NodeClaimList{}
	if err := l.Reader.List(w.Context(), &l.claims); err != nil {
		w.Fatal(err)
	}
}

func (l *lagging) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	claims, ok := list.(*v1.NodeClaimList)
	if !ok {
		return l.Reader.List(ctx, list, opts...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims.DeepCopyInto(claims)
	return nil
}

// permits reports whether a NodeClaim permits a value of a label.
func permits(claim *v1.NodeClaim, key, value string) bool {
	return !slices.ContainsFunc(claim.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool {
		return r.Key == key && !slices.Contains(r.Values, value)
	})
}

// run is one random run.
type run struct {
	*fakecluster.Cluster
	random *rand.Rand
	cache  *lagging
	// caps are dollars by pool; the key "" is the cluster.
	caps map[string]float64
	// failing makes creations fail: 1 clearly, 2 without a clear response.
	failing           atomic.Int32
	admitted, refused int
}

// newRun empties the cluster and fills it for another run.
func newRun(w *fakecluster.Cluster, seed uint64) *run {
	empty(w)
	r := &run{Cluster: w, random: rand.New(rand.NewPCG(seed, 1)), cache: &lagging{Reader: w.API}, caps: map[string]float64{}}
	cents := func() float64 { return float64(1+r.random.IntN(300)) / 100 }
	w.Provider.Types = nil
	for i := range 1 + r.random.IntN(4) {
		w.Provider.Types = append(w.Provider.Types, instanceType(fmt.Sprintf("t%d", i), cents, func() bool { return r.random.IntN(5) > 0 }))
	}
	for _, name := range []string{"a", "b"} {
		pool := fakecluster.Pool()
		pool.Name, pool.UID, pool.Labels = name, "", map[string]string{"name": name}
		w.Add(pool)
		if r.random.IntN(2) == 0 {
			r.caps[name] = float64(r.random.IntN(1500)) / 100
			p := capped("pool-"+name, opsv1alpha1.Caps{NodePool: new(fmt.Sprintf("%.2f", r.caps[name]))})
			p.Spec.NodePoolSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"name": name}}
			w.Add(p)
		}
	}
	if len(r.caps) == 0 || r.random.IntN(3) > 0 {
		r.caps[""] = float64(r.random.IntN(2000)) / 100
		w.Add(capped("cluster", opsv1alpha1.Caps{Cluster: new(fmt.Sprintf("%.2f", r.caps[""]))}))
	}
	w.Creations.Admission = costcap.New(r.cache, w.Cloud, w.Time)
	w.Fail = func(op string, obj runtime.Object) error {
		if _, isClaim := obj.(*v1.NodeClaim); !isClaim || op != "create" {
			return nil
		}
		switch r.failing.Load() {
		case 1:
			return apierrors.NewForbidden(schema.GroupResource{Resource: "nodeclaims"}, "x", errors.New("quota"))
		case 2:
			return apierrors.NewInternalError(errors.New("lost"))
		}
		return nil
	}
	return r
}

// empty removes everything from a cluster.
func empty(w *fakecluster.Cluster) {
	w.Fail = nil
	for _, list := range []client.ObjectList{&v1.NodeClaimList{}, &v1.NodePoolList{}, &opsv1alpha1.OperationsPolicyList{}} {
		if err := w.API.List(w.Context(), list); err != nil {
			w.Fatal(err)
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			obj := o.(client.Object)
			if len(obj.GetFinalizers()) > 0 {
				obj.SetFinalizers(nil)
				if err := w.API.Update(w.Context(), obj); err != nil {
					return err
				}
			}
			return w.API.Delete(w.Context(), obj)
		}); err != nil {
			w.Fatal(err)
		}
	}
}

// some is a random part of list with at least one element, or nil for all.
func (r *run) some(list []string) []string {
	if r.random.IntN(3) == 0 {
		return nil
	}
	list = slices.Clone(list)
	r.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:1+r.random.IntN(len(list))]
}

// create creates several NodeClaims at the same time.
func (r *run) create() {
	var names []string
	for _, t := range r.Provider.Types {
		names = append(names, t.Name)
	}
	r.failing.Store(max(int32(r.random.IntN(8))-5, 0)) //nolint:gosec // small
	claims := make([]*v1.NodeClaim, 1+r.random.IntN(4))
	for i := range claims {
		claims[i] = claimOf(r.Cluster, []string{"a", "b"}[r.random.IntN(2)], r.some(names), r.some(zones), r.some(capacityTypes))
	}
	errs := make([]error, len(claims))
	var group sync.WaitGroup
	for i, claim := range claims {
		group.Go(func() { errs[i] = r.Creations.NodeClaim(r.Context(), r.Client, claim, func(string) {}) })
	}
	group.Wait()
	r.failing.Store(0)
	for _, err := range errs {
		var exceeded *policy.ExceededError
		switch {
		case err == nil:
			r.admitted++
		case errors.As(err, &exceeded):
			r.refused++
		}
	}
}

// offerings are those that a NodeClaim may still be launched as, or the one that it was launched as, with their prices.
func (r *run) offerings(claim *v1.NodeClaim) (list []map[string]string, prices []float64) {
	for _, t := range r.Provider.Types {
		for i := range t.Offerings {
			o := &t.Offerings[i]
			labels := map[string]string{corev1.LabelInstanceTypeStable: t.Name, corev1.LabelTopologyZone: o.Zone(), v1.CapacityTypeLabelKey: o.CapacityType()}
			fits := true
			for key, value := range labels {
				fits = fits && permits(claim, key, value) && (claim.Labels[key] == "" || claim.Labels[key] == value)
			}
			if fits {
				list, prices = append(list, labels), append(prices, o.Price)
			}
		}
	}
	return list, prices
}

// step makes one random change beside creations.
func (r *run) step() {
	var list v1.NodeClaimList
	if err := r.API.List(r.Context(), &list); err != nil {
		r.Fatal(err)
	}
	switch r.random.IntN(4) {
	case 0:
		r.cache.catchUp(r.Cluster)
	case 1:
		r.Time.Step(time.Duration(r.random.IntN(3000)) * time.Millisecond)
	case 2:
		if len(list.Items) > 0 {
			claim := &list.Items[r.random.IntN(len(list.Items))]
			offers, _ := r.offerings(claim)
			chosen := offers[r.random.IntN(len(offers))]
			fakecluster.Change(r.Cluster, claim, func(c *v1.NodeClaim) {
				for key, value := range chosen {
					c.Labels[key] = value
				}
			})
		}
	case 3:
		if len(list.Items) > 0 {
			claim := &list.Items[r.random.IntN(len(list.Items))]
			fakecluster.Change(r.Cluster, claim, func(c *v1.NodeClaim) { c.Finalizers = nil })
			r.Delete(claim)
		}
	}
}

// check compares what exists with the caps: launched NodeClaims at their price, others at the most that they may cost.
func (r *run) check(seed uint64, step int) {
	var list v1.NodeClaimList
	if err := r.API.List(r.Context(), &list); err != nil {
		r.Fatal(err)
	}
	cost := map[string]float64{}
	for i := range list.Items {
		_, prices := r.offerings(&list.Items[i])
		most := slices.Max(prices)
		cost[""] += most
		cost[list.Items[i].Labels[v1.NodePoolLabelKey]] += most
	}
	for name, limit := range r.caps {
		if cost[name] > limit+1e-9 {
			r.Fatalf("seed %d, step %d: nodes of %q cost up to $%.2f/h, the cap is $%.2f/h", seed, step, name, cost[name], limit)
		}
	}
}

// TestCapsHoldInRandomRuns: whatever is created at the same time, launched, lost and deleted, and however late the cache is, no launch passes a
// cap.
func TestCapsHoldInRandomRuns(t *testing.T) {
	const runs, steps = 1000, 12
	w := fakecluster.New(t)
	admitted, refused := 0, 0
	for seed := range uint64(runs) {
		r := newRun(w, seed)
		for step := range steps {
			if step%2 == 0 {
				r.create()
			} else {
				r.step()
			}
			r.check(seed, step)
		}
		admitted, refused = admitted+r.admitted, refused+r.refused
	}
	if admitted < runs || refused < runs {
		t.Errorf("%d NodeClaims were admitted and %d refused in %d runs: the caps were hardly tested", admitted, refused, runs)
	}
}

// fixture is a cluster with a NodePool "pool", a type for $0.50/h on demand and $0.20/h on spot, and a policy.
func fixture(t *testing.T, caps opsv1alpha1.Caps) (*fakecluster.Cluster, *costcap.Caps) {
	t.Helper()
	prices := []float64{0.5, 0.2}
	i := 0
	w := fakecluster.New(t, fakecluster.Pool(), capped("caps", caps))
	w.Provider.Types = []*cloud.InstanceType{instanceType("small", func() float64 { i++; return prices[(i-1)%2] }, func() bool { return true })}
	c := costcap.New(w.API, w.Cloud, w.Time)
	w.Creations.Admission = c
	return w, c
}

func try(w *fakecluster.Cluster, kinds ...string) error {
	return w.Creations.NodeClaim(w.Context(), w.Client, claimOf(w, "pool", []string{"small"}, nil, kinds), func(string) {})
}

func TestALaunchCountsAsItsMostExpensiveOffering(t *testing.T) {
	w, c := fixture(t, opsv1alpha1.Caps{NodePool: new("1.00")})
	for i := range 2 {
		if err := try(w, capacityTypes...); err != nil {
			t.Fatalf("launch %d up to the cap: %v", i, err)
		}
	}
	var exceeded *policy.ExceededError
	if err := try(w, "spot"); !errors.As(err, &exceeded) || exceeded.Spent != 1_000_000 || exceeded.Price != 200_000 {
		t.Fatalf("a launch over the cap: %v", err)
	}
	var list v1.NodeClaimList
	if err := w.API.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		fakecluster.Change(w, &list.Items[i], func(claim *v1.NodeClaim) {
			claim.Labels[corev1.LabelInstanceTypeStable], claim.Labels[corev1.LabelTopologyZone], claim.Labels[v1.CapacityTypeLabelKey] = "small", "zone-1", "spot"
		})
	}
	w.Time.Step(2 * time.Second)
	caps, err := usedCaps(t, c)
	if err != nil || len(caps) != 1 || caps[0].Used != 400_000 || caps[0].Limit != 1_000_000 {
		t.Errorf("two spot nodes use %+v, %v", caps, err)
	}
	if err := try(w, capacityTypes...); err != nil {
		t.Errorf("launched nodes count as more than they cost: %v", err)
	}
}

func TestARefusedCreationCountsNoLonger(t *testing.T) {
	w, _ := fixture(t, opsv1alpha1.Caps{Cluster: new("0.50")})
	w.Fail = fakecluster.Always("create", &v1.NodeClaim{}, apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("quota")))
	if err := try(w); !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
	w.Fail = nil
	if err := try(w); err != nil {
		t.Errorf("the refused NodeClaim counts: %v", err)
	}
}

// TestALostCreationCountsForAWhile: it may exist.
func TestALostCreationCountsForAWhile(t *testing.T) {
	w, _ := fixture(t, opsv1alpha1.Caps{Cluster: new("0.50")})
	w.Fail = fakecluster.Always("create", &v1.NodeClaim{}, apierrors.NewInternalError(errors.New("lost")))
	if err := try(w); err == nil {
		t.Fatal("no error")
	}
	w.Fail = nil
	var exceeded *policy.ExceededError
	if err := try(w); !errors.As(err, &exceeded) {
		t.Fatalf("a NodeClaim that may exist does not count: %v", err)
	}
	w.Time.Step(6 * time.Minute)
	if err := try(w); err != nil {
		t.Errorf("a NodeClaim that never appeared counts: %v", err)
	}
}

// TestUnknownPricesCloseACap: no launch is known to stay within a cap while the price of a node is not known. What was known once, is.
func TestUnknownPricesCloseACap(t *testing.T) {
	w, c := fixture(t, opsv1alpha1.Caps{Cluster: new("100")})
	w.Add(w.LaunchedClaim("old"))
	if caps, err := usedCaps(t, c); err != nil || caps[0].Used != 200_000 {
		t.Fatalf("%+v, %v", caps, err)
	}
	w.Provider.Types = []*cloud.InstanceType{instanceType("other", func() float64 { return 1 }, func() bool { return true })}
	w.Time.Step(2 * time.Second)
	if caps, err := usedCaps(t, c); err != nil || caps[0].Used != 200_000 {
		t.Errorf("the last known price does not count: %+v, %v", caps, err)
	}
	c = costcap.New(w.API, w.Cloud, w.Time)
	w.Creations.Admission = c
	if caps, err := usedCaps(t, c); err != nil || caps[0].Used != caps[0].Limit {
		t.Errorf("an unknown price leaves something: %+v, %v", caps, err)
	}
	err := w.Creations.NodeClaim(t.Context(), w.Client, claimOf(w, "pool", []string{"other"}, nil, nil), func(string) {})
	if err == nil || !strings.Contains(err.Error(), "the price of NodeClaims old is not known") {
		t.Errorf("launched under a cap of unknown use: %v", err)
	}
}

func TestWithoutCapsEverythingIsAdmitted(t *testing.T) {
	w := fakecluster.New(t, fakecluster.Pool())
	c := costcap.New(w.API, w.Cloud, w.Time)
	w.Creations.Admission = c
	if err := try(w); err != nil {
		t.Fatal(err)
	}
	if caps, err := usedCaps(t, c); err != nil || caps != nil {
		t.Errorf("caps %+v, %v", caps, err)
	}
}

// usedCaps are the caps on the pool of the cluster.
func usedCaps(t *testing.T, c *costcap.Caps) ([]policy.UsedCap, error) {
	t.Helper()
	pool := fakecluster.Pool()
	of, err := c.Of(t.Context(), []*v1.NodePool{pool})
	return of[pool.Name], err
}
