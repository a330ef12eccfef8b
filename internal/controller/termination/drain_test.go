package termination

import (
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

var now = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// drained builds a running pod with half a minute of grace.
func drained(name string, changes ...func(*corev1.Pod)) corev1.Pod {
	grace := int64(30)
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.PodSpec{NodeName: "a", TerminationGracePeriodSeconds: &grace},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

func daemon(p *corev1.Pod) {
	p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d"})
}

func mirror(p *corev1.Pod) {
	p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "a"})
}

func critical(p *corev1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }

func finished(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }

func pinned(p *corev1.Pod) { p.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"} }

func tolerant(p *corev1.Pod) {
	p.Spec.Tolerations = []corev1.Toleration{{Key: v1.DisruptedTaintKey, Operator: corev1.TolerationOpExists}}
}

func grace(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

// leaving is a pod that was deleted at the given time, with a grace period.
func leaving(asked time.Time, seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp = &metav1.Time{Time: asked.Add(time.Duration(seconds) * time.Second)}
		p.DeletionGracePeriodSeconds = &seconds
	}
}

func names(pods []*corev1.Pod) []string {
	var out []string
	for _, pod := range pods {
		out = append(out, pod.Name)
	}
	return out
}

func TestPlanDrain(t *testing.T) {
	t.Attr("covers", "C216 C217 C219 C220 C221 C222 C223 C224 C226 C227 C242 C243 C245 C253")
	in := func(d time.Duration) *time.Time { at := now.Add(d); return &at }
	for name, c := range map[string]struct {
		pods      []corev1.Pod
		deadline  *time.Time
		waiting   int
		deleteNow []string
		evict     []string
	}{
		"an empty Node": {},
		"ordinary pods first": {
			pods:    []corev1.Pod{drained("cd", critical, daemon), drained("c", critical), drained("d", daemon), drained("p"), drained("q")},
			waiting: 5, evict: []string{"p", "q"},
		},
		"then DaemonSet pods": {
			pods:    []corev1.Pod{drained("cd", critical, daemon), drained("c", critical), drained("d", daemon)},
			waiting: 3, evict: []string{"d"},
		},
		"then critical pods": {
			pods:    []corev1.Pod{drained("cd", critical, daemon), drained("c", critical)},
			waiting: 2, evict: []string{"c"},
		},
		"then critical DaemonSet pods": {
			pods:    []corev1.Pod{drained("cd", critical, daemon)},
			waiting: 1, evict: []string{"cd"},
		},
		"a leaving pod holds back the next group": {
			pods:    []corev1.Pod{drained("p", leaving(now, 30)), drained("d", daemon)},
			waiting: 2,
		},
		"a protected pod holds back the next group": {
			pods:    []corev1.Pod{drained("p", pinned), drained("d", daemon)},
			waiting: 2, evict: []string{"p"}, // only the queue knows when the protection ends
		},
		"pods that do not count": {
			pods: []corev1.Pod{
				drained("t", tolerant), drained("f", finished), drained("m", mirror), drained("s", leaving(now.Add(-2*time.Minute), 59)),
			},
		},
		"grace that does not fit": {
			pods:     []corev1.Pod{drained("long", grace(100), pinned), drained("short", grace(10))},
			deadline: in(time.Minute), waiting: 2, deleteNow: []string{"long"}, evict: []string{"short"},
		},
		"critical pods out of time are not held back": {
			pods:     []corev1.Pod{drained("p"), drained("c", critical, grace(100))},
			deadline: in(time.Minute), waiting: 2, deleteNow: []string{"c"}, evict: []string{"p"},
		},
		"no time at all": {
			pods:     []corev1.Pod{drained("p"), drained("d", daemon), drained("c", critical, grace(0))},
			deadline: in(-time.Second), waiting: 3, deleteNow: []string{"p", "d", "c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planDrain(c.pods, c.deadline, now)
			if plan.waiting != c.waiting || !slices.Equal(names(plan.deleteNow), c.deleteNow) || !slices.Equal(names(plan.evict), c.evict) {
				t.Errorf("waiting %d, delete now %v, evict %v; want %d, %v, %v",
					plan.waiting, names(plan.deleteNow), names(plan.evict), c.waiting, c.deleteNow, c.evict)
			}
		})
	}
}

func TestMustDelete(t *testing.T) {
	t.Attr("covers", "C242 C244 C246 C251 C252 W019")
	in := func(d time.Duration) *time.Time { at := now.Add(d); return &at }
	for name, c := range map[string]struct {
		pod      corev1.Pod
		deadline *time.Time
		want     bool
	}{
		"no deadline":                          {drained("p", grace(3600)), nil, false},
		"the grace fits exactly":               {drained("p", grace(60)), in(time.Minute), false},
		"one nanosecond less":                  {drained("p", grace(60)), in(time.Minute - 1), true},
		"a pod without grace period":           {drained("p", func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = nil }), in(-time.Hour), false},
		"leaving in time":                      {drained("p", leaving(now, 60)), in(time.Minute), false},
		"leaving too late":                     {drained("p", leaving(now, 3600)), in(time.Minute), true},
		"cut to what the deadline left":        {drained("p", leaving(now, 59)), in(time.Minute), false},
		"cut to the least after the deadline":  {drained("p", leaving(now, 1)), in(-time.Hour), false},
		"cut too little after the deadline":    {drained("p", leaving(now, 2)), in(-time.Hour), true},
		"a grace that overflows":               {drained("p", grace(9223372037)), in(time.Minute), true},
		"the longest grace":                    {drained("p", grace(math.MaxInt64)), in(time.Hour), true},
		"leaving after a grace that overflows": {drained("p", leaving(now, 9223372037)), in(time.Minute), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustDelete(&c.pod, c.deadline, now); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestGraceUntil(t *testing.T) {
	t.Attr("covers", "C249")
	for left, want := range map[time.Duration]time.Duration{
		time.Minute: time.Minute, 90*time.Second + 900*time.Millisecond: 90 * time.Second,
		500 * time.Millisecond: time.Second, -time.Hour: time.Second,
	} {
		if got := graceUntil(now.Add(left), now); got != want {
			t.Errorf("with %v left: %v, want %v", left, got, want)
		}
	}
}
