package disruption

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestALocalVolumeDoesNotHoldItsNode: the volume can be used only on the node, and is deleted with it.
func TestALocalVolumeDoesNotHoldItsNode(t *testing.T) {
	t.Attr("covers", "C484")
	inBubble(t, "a drifted node with a pod that uses one is replaced", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("100%"), usable)
		l.of("pool", "a", "x1")
		wait, class := storagev1.VolumeBindingWaitForFirstConsumer, "local"
		w.create(
			&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait},
			&corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: "disk"},
				Spec: corev1.PersistentVolumeSpec{
					StorageClassName:       class,
					PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/disk"}},
					NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
						MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}},
					}}}},
				},
			},
			&corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"},
				Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: &class, VolumeName: "disk"},
				Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
			},
		)
		w.pod("a", "db", asks(900), func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
			}}}
		})
		w.drift("a")
		defer w.run()()
		w.pass(time.Minute)
		w.wantMetric("karpenter_nodeclaims_created_total", 1, "reason=drifted")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1, "reason=drifted")
	})
}

// TestNoRunaway: workloads come and go while nodes are consolidated and removed as fast as they may be.
func TestNoRunaway(t *testing.T) {
	t.Attr("covers", "C557")
	inBubble(t, "there are never many more nodes than the pods need, and in the end nothing changes", func(w *harness) {
		l := w.live(ondemand(1, 2, 4, 8))
		w.pool("pool", budget("100%"), underutilized)
		defer w.run()()
		serial, most := 0, 0
		for round := range 6 {
			for range 12 {
				serial++
				w.pod("", fmt.Sprintf("pod-%03d", serial), asks(200+100*int64(serial%7)))
			}
			for range 30 {
				w.pass(2 * time.Second)
				most = max(most, w.alive())
			}
			for _, pod := range l.pods(w.Context()) {
				if strings.HasPrefix(pod.Name, "pod-") && (int(pod.Name[len("pod-")+2])+round)%2 == 0 {
					w.remove(pod)
				}
			}
			for range 30 {
				w.pass(2 * time.Second)
				most = max(most, w.alive())
			}
		}
		// There are at most 24 pods at a time; on dedicated nodes they would use as many nodes.
		if most > 16 {
			w.Errorf("%d nodes at a time", most)
		}
		w.pass(20 * time.Minute)
		pods, cores := 0, int64(0)
		for _, pod := range l.pods(w.Context()) {
			if pod.Spec.NodeName == "" {
				w.Errorf("pod %s has no node", pod.Name)
			}
			pods, cores = pods+1, cores+cpuOf(pod)
		}
		if got := w.alive(); int64(got) > cores/1000+1 {
			w.Errorf("%d nodes for %d pods that ask for %d thousandths of a core", got, pods, cores)
		}
		l.wantNoChange()
	})
}

// TestBudgetsThatBlock: budgets block at any time, or in a window that is open now.
func TestBudgetsThatBlock(t *testing.T) {
	t.Attr("covers", "C560")
	for name, budgets := range map[string][]v1.Budget{
		"always": budget("0"),
		"today":  {{Nodes: "0", Schedule: new("@daily"), Duration: &metav1.Duration{Duration: 24 * time.Hour}}},
	} {
		inBubble(t, name, func(w *harness) {
			l := w.live(ondemand(1))
			w.pool("pool", budgets, usable)
			for _, node := range []string{"empty", "drifted", "used"} {
				l.of("pool", node, "x1")
			}
			w.pod("used", "web", asks(900))
			w.drift("drifted", "used")
			defer w.run()()
			w.pass(time.Hour)
			w.wantDeleted()
			l.wantInstanceTypes("x1 x1 x1")
			for _, node := range []string{"empty", "drifted", "used"} {
				w.wantUnmarked(node)
			}
			w.wantMetric("karpenter_nodeclaims_created_total", 0)
			w.wantEvent("DisruptionBlocked nodepool/pool: No allowed disruptions for disruption reason Drifted due to blocking budget")
		})
	}
}

// TestRestarts: a process ends at some step of a command, and the next process starts with only the objects in the API.
func TestRestarts(t *testing.T) {
	t.Attr("covers", "C566")
	for _, tt := range []struct {
		name string
		// at is when the process ends; the replacement is ready after a minute, the drain goes on after three.
		at    time.Duration
		there func(w *harness) bool
	}{
		{"tainted", 0, func(w *harness) bool { return disrupted(w.node("a")) }},
		{"the replacement is launched", 30 * time.Second, func(w *harness) bool { return w.alive() == 2 }},
		{"draining", 90 * time.Second, func(w *harness) bool { return len(w.deleted()) == 1 && len(w.node("a").Spec.Taints) == 1 }},
		{"ending", 4 * time.Minute, func(w *harness) bool { return w.alive() == 1 }},
	} {
		inBubble(t, tt.name, func(w *harness) {
			l := w.replacing(time.Minute)
			l.early.Store(true)
			l.stuck.Store(true)
			w.pass(tt.at)
			if tt.at > 3*time.Minute {
				l.stuck.Store(false)
				w.pass(time.Second)
			}
			if !tt.there(w) {
				w.Fatalf("after %s the step is another one; %v", w.age(), l.history)
			}
			w.end()
			defer w.restart()()
			again := w.live(w.provider.types)
			again.born, again.moved = l.born, l.moved
			again.launch.Store(int64(time.Minute))
			again.early.Store(true)
			again.stuck.Store(true)
			defer w.run()()
			w.pass(2 * time.Minute)
			again.stuck.Store(false)
			w.pass(10 * time.Minute)
			again.wantInstanceTypes("x2")
			if got := w.alive(); got != 1 {
				w.Errorf("%d NodeClaims, want one", got)
			}
			if marked := w.marked(); len(marked) > 0 {
				w.Errorf("still marked: %v", marked)
			}
			for _, pod := range again.pods(w.Context()) {
				if pod.Spec.NodeName == "" {
					w.Errorf("pod %s has no node", pod.Name)
				}
			}
		})
	}
}
