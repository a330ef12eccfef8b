package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// pollPeriod is the period of polling.
const pollPeriod = 100 * time.Millisecond

// patience is the usual timeout. Most waits take a second or two; the rest is for a busy host.
const patience = 2 * time.Minute

// harness is a cluster as one test uses it.
type harness struct {
	*testCluster
	t   *testing.T
	ctx context.Context
}

// begin gives a test an empty cluster in which no controller runs.
func begin(t *testing.T) *harness {
	t.Helper()
	w := enter(t)
	if w.shared != nil {
		w.shared.end()
		w.shared = nil
	}
	w.wipe()
	return w
}

// beginOnOwnCluster gives a test a dedicated cluster, whose launcher gets these flags. It takes seconds to start.
func beginOnOwnCluster(t *testing.T, up ...string) *harness {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	l := &testCluster{clusterPool: s, up: up}
	t.Cleanup(func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &harness{testCluster: l, t: t, ctx: t.Context()}
}

// enter acquires a cluster for the duration of the test, as the last one left it.
func enter(t *testing.T) *harness {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if ended, why := l.ended(); ended {
			t.Errorf("the control plane ended: %v", why)
		}
		s.free <- l
	})
	return &harness{testCluster: l, t: t, ctx: t.Context()}
}

// quick are the flags of tests that are not about batching or replicas. On a busy host half a second goes by between two pods that were created
// together; with a shorter idle time they are planned apart.
func quick(flags ...string) []string {
	return append([]string{"--disable-leader-election", "--batch-idle-duration=500ms"}, flags...)
}

// controller starts a controller with quick flags and these, and returns when it acts.
func (w *harness) controller(flags ...string) *controller {
	w.t.Helper()
	p := w.launch(quick(flags...)...)
	w.awaitLog(p, "elected leader")
	return p
}

// launch starts a controller and does not wait for it. When the test ends it is killed, and if the test failed its last words
// are shown.
func (w *harness) launch(flags ...string) *controller {
	w.t.Helper()
	p, err := w.startController(flags...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			w.t.Error(err)
		}
		if w.t.Failed() {
			w.t.Logf("the last lines of a controller:\n%s", p.tail())
		}
	})
	return p
}

// must fails the test on an error.
func (w *harness) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// await polls until look returns ""; any other text names the obstacle. Programs and time are real here: a test can only look again after a while.
func (w *harness) await(what string, within time.Duration, look func() (obstacle string)) {
	w.t.Helper()
	deadline := time.Now().Add(within)
	for {
		obstacle := look()
		if obstacle == "" {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("waited %s for this: %s; last seen: %s", within, what, obstacle)
		}
		time.Sleep(pollPeriod)
	}
}

// stays polls for a while and fails when look returns a change. That nothing happens can only be seen while real time passes.
func (w *harness) stays(what string, during time.Duration, look func() (change string)) {
	w.t.Helper()
	for deadline := time.Now().Add(during); time.Now().Before(deadline); time.Sleep(pollPeriod) {
		if change := look(); change != "" {
			w.t.Fatalf("this should stay so for %s: %s; seen: %s", during, what, change)
		}
	}
}

// awaitLog waits until a controller has logged a message.
func (w *harness) awaitLog(p *controller, message string) {
	w.t.Helper()
	w.await(fmt.Sprintf("the controller logs %q", message), patience, func() string {
		if p.Ended() {
			w.t.Fatalf("the controller ended: %s", p.State())
		}
		if p.logged(message) == nil {
			return "it has not"
		}
		return ""
	})
}

// create creates objects and fails the test if one is refused.
func (w *harness) create(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		if err := w.client.Create(w.ctx, o); err != nil {
			w.t.Fatalf("creating %T %q: %v", o, o.GetName(), err)
		}
	}
}

// delete deletes an object, without waiting for its finalizers.
func (w *harness) delete(o client.Object) {
	w.t.Helper()
	if err := w.client.Delete(w.ctx, o); err != nil {
		w.t.Fatalf("deleting %T %q: %v", o, o.GetName(), err)
	}
}

// change reads an object again, changes it and writes it, and retries on conflicts.
func change[T client.Object](w *harness, o T, edit func(T)) {
	w.t.Helper()
	w.await(fmt.Sprintf("%T %q can be changed", o, o.GetName()), patience, func() string {
		if err := w.client.Get(w.ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		edit(o)
		if err := w.client.Update(w.ctx, o); err != nil {
			return err.Error()
		}
		return ""
	})
}

// get reads an object again; false when it is gone.
func (w *harness) get(o client.Object) bool {
	w.t.Helper()
	err := w.client.Get(w.ctx, client.ObjectKeyFromObject(o), o)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	return err == nil
}

// list reads a list. While the API server is away it keeps asking.
func (w *harness) list(into client.ObjectList, options ...client.ListOption) {
	w.t.Helper()
	w.await(fmt.Sprintf("%T can be read", into), patience, func() string {
		if err := w.client.List(w.ctx, into, options...); err != nil {
			return err.Error()
		}
		return ""
	})
}

// pods are the pods without a DaemonSet, in all namespaces.
func (w *harness) pods() []corev1.Pod {
	w.t.Helper()
	var list corev1.PodList
	w.list(&list)
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" })
	})
}

// whereabouts says on which node each pod is, those of DaemonSets included, and since when.
func (w *harness) whereabouts() string {
	w.t.Helper()
	var all corev1.PodList
	w.list(&all)
	var out []string
	for _, pod := range all.Items {
		since := "not scheduled"
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
				since = c.LastTransitionTime.Format(time.TimeOnly)
			}
		}
		out = append(out, fmt.Sprintf("%s on %q (%s)", pod.Name, pod.Spec.NodeName, since))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (w *harness) nodes() []corev1.Node {
	w.t.Helper()
	var list corev1.NodeList
	w.list(&list)
	return list.Items
}

func (w *harness) claims() []v1.NodeClaim {
	w.t.Helper()
	var list v1.NodeClaimList
	w.list(&list)
	return list.Items
}

// events are the messages of karpenter's events about an object with this reason.
func (w *harness) events(about client.Object, reason string) []string {
	w.t.Helper()
	var list corev1.EventList
	w.list(&list)
	var out []string
	for _, e := range list.Items {
		if e.Source.Component == "karpenter" && e.InvolvedObject.UID == about.GetUID() && e.Reason == reason {
			out = append(out, e.Message)
		}
	}
	return out
}
