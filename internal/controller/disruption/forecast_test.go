package disruption

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/forecast"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

var forecasts = flag.Uint64("forecasts", 5, "number of random clusters whose forecast is compared with what the controller does")

// TestForecast: clusters whose nodes are drifted or under-used are left to the controller. Where the scheduler puts pods, and which of two
// commands ends first, changes what consolidation finds later, so that the nodes at the end differ in part. What they cost was forecast within
// five percent in most clusters.
func TestForecast(t *testing.T) {
	const tolerance = 0.05
	same, close, sum := uint64(0), uint64(0), 0.0
	for seed := range *forecasts {
		inBubble(t, fmt.Sprintf("seed %d", seed), func(w *harness) {
			l := w.randomFleet(rand.New(rand.NewPCG(seed, 23))) //nolint:gosec // a test
			f, err := forecast.Run(w.Context(), w.objects(), w.deps.Cloud, forecast.Options{
				Options: simulation.Options{Now: time.Now()}, Launch: 5 * time.Second,
			})
			if err != nil {
				w.Fatal(err)
			}
			stop := w.run()
			w.pass(30 * time.Minute)
			stop()
			got, price := map[string]int{}, 0.0
			for _, name := range strings.Fields(l.instanceTypes()) {
				got[name]++
				cores, _ := strconv.Atoi(strings.TrimPrefix(name, "x"))
				price += float64(cores)
			}
			off := math.Abs(price-f.After.Price) / max(price, 1)
			sum += off
			if off <= tolerance {
				close++
			}
			if maps.Equal(got, f.After.Types) {
				same++
				return
			}
			w.Logf("forecast %v at $%.0f, got %v at $%.0f; before %v at $%.0f; %s", f.After.Types, f.After.Price, got, price,
				f.Before.Types, f.Before.Price, strings.Join(l.history, " "))
			for _, c := range f.Commands {
				w.Logf("%s to %s: %s %s %v -> %v", c.At, c.Done, c.Reason, c.Decision, c.Nodes, c.Launches)
			}
		})
	}
	n := *forecasts
	t.Logf("of %d forecasts, %d had the nodes of the end, %d their price within %.0f %%; prices differed by %.1f %% on average",
		n, same, close, tolerance*100, sum/float64(n)*100)
	if close*10 < n*8 {
		t.Errorf("%d of %d prices were forecast within %.0f %%, want 80 %%", close, n, tolerance*100)
	}
}

// randomFleet is a cluster with up to 24 nodes, of which some have drifted, and pods on them.
func (w *harness) randomFleet(random *rand.Rand) *life {
	l := w.live(ondemand(1, 2, 4, 8))
	l.asEngine = true
	class := &kwok.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	condition.For(class, time.Now()).True(kwok.ConditionTypeReady)
	w.create(class)
	budgets := []string{"10%", "50%", "100%", "1", "3"}
	for _, pool := range []string{"one", "two"} {
		changes := []func(*v1.NodePool){usable}
		if random.IntN(2) == 0 {
			changes = []func(*v1.NodePool){underutilized}
		}
		w.pool(pool, budget(budgets[random.IntN(len(budgets))]), changes...)
	}
	serial := 0
	for i := range 2 + random.IntN(22) {
		name, cores := fmt.Sprintf("node-%02d", i), []int64{1, 2, 4, 8}[random.IntN(4)]
		l.of([]string{"one", "two"}[random.IntN(2)], name, fmt.Sprintf("x%d", cores))
		for left := cores * 1000; left > 200 && random.IntN(5) > 0; {
			size := min(200+100*random.Int64N(20), left)
			serial++
			w.pod(name, fmt.Sprintf("pod-%03d", serial), asks(size), func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(1)) })
			left -= size
		}
		if random.IntN(3) == 0 {
			claim := w.claim(name)
			stored := claim.DeepCopy()
			condition.For(claim, time.Now().Add(time.Duration(i)*time.Millisecond)).TrueWithReason(v1.ConditionTypeDrifted, "ImageDrift", "ImageDrift")
			if err := w.client.Status().Patch(w.Context(), claim, client.MergeFrom(stored)); err != nil {
				w.Fatal(err)
			}
		}
	}
	return l
}

// objects are those of the cluster, as a snapshot has them.
func (w *harness) objects() []client.Object {
	var out []client.Object
	for _, list := range []client.ObjectList{&v1.NodePoolList{}, &v1.NodeClaimList{}, &corev1.NodeList{}, &corev1.PodList{}, &kwok.KWOKNodeClassList{}} {
		if err := w.client.List(w.Context(), list); err != nil {
			w.Fatal(err)
		}
		switch list := list.(type) {
		case *v1.NodePoolList:
			out = append(out, typed(list.Items, "NodePool")...)
		case *v1.NodeClaimList:
			out = append(out, typed(list.Items, "NodeClaim")...)
		case *corev1.NodeList:
			out = append(out, typed(list.Items, "Node")...)
		case *corev1.PodList:
			out = append(out, typed(list.Items, "Pod")...)
		case *kwok.KWOKNodeClassList:
			out = append(out, typed(list.Items, "KWOKNodeClass")...)
		}
	}
	return out
}

func typed[T any, P interface {
	*T
	client.Object
}](items []T, kind string) []client.Object {
	var out []client.Object
	for i := range items {
		var o client.Object = P(&items[i])
		gvk := o.GetObjectKind().GroupVersionKind()
		gvk.Kind = kind
		if kind == "KWOKNodeClass" {
			gvk = kwok.SchemeGroupVersion.WithKind(kind)
		}
		o.GetObjectKind().SetGroupVersionKind(gvk)
		out = append(out, o)
	}
	return slices.Clip(out)
}

// bindAsEngine binds pods where the engine places them, as the scheduler of a cluster in memory does.
func (l *life) bindAsEngine(ctx context.Context) {
	var objects []client.Object
	pending := map[string]*corev1.Pod{}
	going := l.deleted()
	for _, o := range l.objects() {
		switch o := o.(type) {
		case *corev1.Node:
			if !disrupted(o) && o.DeletionTimestamp.IsZero() && !slices.Contains(going, o.Name) {
				objects = append(objects, o)
			}
		case *corev1.Pod:
			if o.Spec.NodeName == "" {
				pending[string(o.UID)] = o
				marked := o.DeepCopy()
				marked.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
				objects = append(objects, marked)
				continue
			}
			objects = append(objects, o)
		}
	}
	if len(pending) == 0 {
		return
	}
	result, err := simulation.Run(ctx, objects, cloud.Cloud{Labels: v1.CoreLabelRules()}, simulation.Options{Now: time.Now()})
	if err != nil {
		l.Error(err)
		return
	}
	for _, at := range result.Plan.Placements {
		for _, p := range at.Pods {
			l.write(ctx, pending[p.UID], at.Node.NodeName)
			delete(pending, p.UID)
		}
	}
	for _, pod := range pending {
		l.write(ctx, pod, "")
	}
}
