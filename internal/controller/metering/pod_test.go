package metering

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStateOfPods(t *testing.T) {
	t.Attr("covers", "C534")
	w := newHarness(t)
	by := labels("name", "namespace", "owner", "node", "scheduled", "nodepool", "zone", "arch", "capacity_type", "instance_type", "phase", "ready", "managed")
	show := func(when string, want ...string) {
		t.Helper()
		expect(t, when, w.Metrics.Pods.State, by, want...)
	}
	pod := w.Pod("web-0", "")
	pending(pod)
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web"}, {APIVersion: "v1", Kind: "Other", Name: "x"}}
	w.nodes.putPod(pod)
	const owner = "/apis/apps/v1/namespaces/default/statefulsets/web"
	show("pending", "web-0/default/"+owner+"//false//////Pending/false/false 1")
	placed := changed(pod, boundTo("a", w.Time.Now()))
	w.nodes.putPod(placed)
	show("bound to an unknown node", "web-0/default/"+owner+"/a/true//////Pending/false/false 1")
	w.nodes.putNode(w.inPool("a"))
	show("the node is known", "web-0/default/"+owner+"/a/true/pool/zone-1/amd64/spot/small/Pending/false/true 1")
	running := changed(placed, readyAt(w.Time.Now()))
	w.nodes.putPod(running)
	show("ready", "web-0/default/"+owner+"/a/true/pool/zone-1/amd64/spot/small/Running/true/true 1")
	w.nodes.putPod(changed(running, finished, func(p *corev1.Pod) { p.Status.Conditions = nil }))
	show("done", "web-0/default/"+owner+"/a/true/pool/zone-1/amd64/spot/small/Succeeded/false/true 1")
	w.nodes.putNode(w.Node("b"))
	bare := w.Pod("bare", "b")
	w.nodes.putPod(bare)
	w.nodes.dropPod(running)
	show("gone; another on an unmanaged node", "bare/default//b/true//zone-1////Running/false/false 1")
}

// samples is the number of samples of a histogram or summary.
func (w *harness) samples(metric string) float64 { return w.Count(metric) }

const (
	boundDuration   = "karpenter_pods_bound_duration_seconds"
	startupDuration = "karpenter_pods_startup_duration_seconds"
	provBound       = "karpenter_pods_provisioning_bound_duration_seconds"
	provStartup     = "karpenter_pods_provisioning_startup_duration_seconds"
)

func TestWaitingBecomesASample(t *testing.T) {
	t.Attr("covers", "C535")
	w := newHarness(t)
	start := w.Time.Now()
	pod := w.Pod("p", "")
	pending(pod)
	w.nodes.putPod(pod)
	w.Time.Step(10 * time.Second)
	m := w.Metrics.Pods
	by := labels("name", "namespace")
	expect(t, "unbound", m.UnboundTime, by, "p/default 10")
	expect(t, "unstarted", m.UnstartedTime, by, "p/default 10")
	if n := w.samples(boundDuration) + w.samples(startupDuration); n != 0 {
		t.Errorf("%v samples while it waits", n)
	}
	placed := changed(pod, boundTo("a", start.Add(12*time.Second)))
	w.nodes.putPod(placed)
	w.nodes.putPod(changed(placed, func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }))
	w.Time.Step(10 * time.Second)
	expect(t, "bound", m.UnboundTime, by)
	expect(t, "bound, not started", m.UnstartedTime, by, "p/default 20")
	started := changed(placed, readyAt(start.Add(25*time.Second)))
	w.nodes.putPod(started)
	w.nodes.putPod(changed(started, func(p *corev1.Pod) { p.Status.Conditions[1].Status = corev1.ConditionFalse }))
	w.nodes.putPod(started)
	expect(t, "started", m.UnstartedTime, by)
	if b, s := w.Sum(boundDuration), w.Sum(startupDuration); w.samples(boundDuration) != 1 || w.samples(startupDuration) != 1 || b != 12 || s != 25 {
		t.Errorf("bound after %v, started after %v; want 12 and 25, once each", b, s)
	}
	if n := w.samples(provBound) + w.samples(provStartup); n != 0 {
		t.Errorf("%v samples of provisioning, with which it had nothing to do", n)
	}
}

func TestPodsWithDevicesAreMeasuredApart(t *testing.T) {
	t.Attr("covers", "N197")
	w := newHarness(t)
	start := w.Time.Now()
	m := w.Metrics.Pods
	by := labels("name", "dynamic_resources")
	for name, claims := range map[string][]corev1.PodResourceClaim{"plain": nil, "devices": {{Name: "gpu", ResourceClaimName: new("gpu")}}} {
		pod := w.Pod(name, "")
		pending(pod)
		pod.Spec.ResourceClaims = claims
		w.deps.PodLatency.Observe(string(pod.UID), start)
		w.deps.PodLatency.RecordPlacement(string(pod.UID), true, start)
		w.nodes.putPod(pod)
		w.Time.Step(time.Second)
		value := strconv.FormatBool(claims != nil)
		expect(t, "unbound", m.UnboundTime, by, name+"/"+value+" 1")
		expect(t, "unbound since its placement", m.ProvisioningUnboundTime, by, name+"/"+value+" 1")
		w.nodes.putPod(changed(pod, boundTo("a", w.Time.Now())))
		expect(t, "bound", m.UnboundTime, by)
		for _, metric := range []string{boundDuration, provBound} {
			if n := w.Count(metric, "dynamic_resources="+value); n != 1 {
				t.Errorf("%s: %s has %v samples with dynamic_resources=%s", name, metric, n, value)
			}
		}
		start = w.Time.Now()
	}
}

func TestOnlyPodsThatWereSeenWaitingAreMeasured(t *testing.T) {
	w := newHarness(t)
	w.nodes.putPod(changed(w.Pod("running", "a"), readyAt(w.Time.Now())))
	slow := w.Pod("bound", "a")
	slow.Status.Phase = corev1.PodPending
	w.nodes.putPod(slow)
	w.nodes.putPod(changed(slow, readyAt(w.Time.Now().Add(3*time.Second))))
	if b, s := w.samples(boundDuration), w.samples(startupDuration); b != 0 || s != 1 {
		t.Errorf("%v bound and %v started; want the one that was pending to be measured", b, s)
	}
}

func TestPodsThatEndAreNotMeasured(t *testing.T) {
	t.Attr("covers", "C536")
	for name, end := range map[string]func(*corev1.Pod){"succeeded": finished, "failed": failed} {
		w := newHarness(t)
		pod := w.Pod("p", "")
		pending(pod)
		w.nodes.putPod(pod)
		w.deps.PodLatency.Observe(string(pod.UID), w.Time.Now())
		w.deps.PodLatency.RecordPlacement(string(pod.UID), true, w.Time.Now())
		w.Time.Step(time.Second)
		w.nodes.putPod(changed(pod, end))
		for _, gauge := range []struct {
			name string
			got  []string
		}{
			{"unstarted", shown(t, w.Metrics.Pods.UnstartedTime, "name")},
			{"unbound", shown(t, w.Metrics.Pods.UnboundTime, "name")},
			{"provisioning", shown(t, w.Metrics.Pods.ProvisioningUnstartedTime, "name")},
		} {
			if len(gauge.got) != 0 {
				t.Errorf("%s: %s shows %v", name, gauge.name, gauge.got)
			}
		}
		if n := w.samples(startupDuration) + w.samples(boundDuration) + w.samples(provStartup); n != 0 {
			t.Errorf("%s: %v samples", name, n)
		}
	}
}

func TestUndecided(t *testing.T) {
	t.Attr("covers", "C537")
	t.Attr("covers", "N198")
	for name, end := range map[string]func(*harness, *corev1.Pod){
		"decided: no place": func(w *harness, p *corev1.Pod) { w.deps.PodLatency.RecordUnschedulable(string(p.UID), w.Time.Now()) },
		"decided: a place":  func(w *harness, p *corev1.Pod) { w.deps.PodLatency.RecordPlacement(string(p.UID), false, w.Time.Now()) },
		"bound":             func(w *harness, p *corev1.Pod) { w.nodes.putPod(changed(p, boundTo("a", w.Time.Now()))) },
		"PodScheduled is True": func(w *harness, p *corev1.Pod) {
			w.nodes.putPod(changed(p, boundTo("", w.Time.Now())))
		},
		"succeeded": func(w *harness, p *corev1.Pod) { w.nodes.putPod(changed(p, finished)) },
		"failed":    func(w *harness, p *corev1.Pod) { w.nodes.putPod(changed(p, failed)) },
		"gone":      func(w *harness, p *corev1.Pod) { w.nodes.dropPod(p) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t)
			pod := w.Pod("p", "")
			pending(pod)
			w.nodes.putPod(pod)
			by := labels("name", "namespace")
			expect(t, "no decision yet", w.Metrics.Pods.ProvisioningSchedulingUndecidedTime, by)
			w.deps.PodLatency.Observe(string(pod.UID), w.Time.Now())
			w.Time.Step(7 * time.Second)
			expect(t, "seen", w.Metrics.Pods.ProvisioningSchedulingUndecidedTime, by, "p/default 7")
			end(w, pod)
			expect(t, name, w.Metrics.Pods.ProvisioningSchedulingUndecidedTime, by)
		})
	}
}

func TestProvisioningIsTimedFromThePromise(t *testing.T) {
	t.Attr("covers", "C538")
	w := newHarness(t)
	start := w.Time.Now()
	pod := w.Pod("p", "")
	pending(pod)
	uid := string(pod.UID)
	w.nodes.putPod(pod)
	w.deps.PodLatency.Observe(uid, start)
	m := w.Metrics.Pods
	show := func(when string, want ...string) {
		t.Helper()
		expect(t, when+", unbound", m.ProvisioningUnboundTime, labels("name", "namespace"), want...)
		expect(t, when+", unstarted", m.ProvisioningUnstartedTime, labels("name", "namespace"), want...)
	}
	show("no verdict")
	w.deps.PodLatency.RecordPlacement(uid, false, start)
	show("a place in a pool that does not bring its nodes up")
	w.deps.PodLatency.RecordPlacement(uid, true, start)
	w.Time.Step(4 * time.Second)
	show("a place", "p/default 4")
	w.deps.PodLatency.RecordUnschedulable(uid, w.Time.Now())
	show("no place any more")
	w.deps.PodLatency.RecordPlacement(uid, true, start.Add(5*time.Second))
	w.Time.Step(4 * time.Second)
	show("a place again", "p/default 3")
	placed := changed(pod, boundTo("a", start.Add(9*time.Second)))
	w.nodes.putPod(placed)
	w.nodes.putPod(changed(placed, readyAt(start.Add(11*time.Second))))
	show("running")
	if b, s := w.Sum(provBound), w.Sum(provStartup); b != 4 || s != 6 || w.samples(provBound) != 1 || w.samples(provStartup) != 1 {
		t.Errorf("bound %v and started %v after the promise, want 4 and 6, once each", b, s)
	}
}
