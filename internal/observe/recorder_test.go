package observe

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
)

// sink records the events that are sent to the API.
type sink struct {
	record.EventRecorder
	sent []string
}

func (s *sink) Event(_ runtime.Object, _, reason, message string) {
	s.sent = append(s.sent, reason+": "+message)
}

func podNamed(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)}}
}

func newTestRecorder() (*Recorder, *sink, *clocktesting.FakeClock) {
	s, clk := &sink{}, clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return NewRecorder(s, clk), s, clk
}

func TestRepetitionsArePublishedOncePerWindow(t *testing.T) {
	t.Attr("covers", "C542 C543")
	for _, tc := range []struct {
		name   string
		event  Event
		window time.Duration
	}{
		{"default", NormalEvent(podNamed("a"), "R", "m", "x"), 2 * time.Minute},
		{"own", NormalEvent(podNamed("a"), "R", "m", "x").within(7 * time.Minute), 7 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, s, clk := newTestRecorder()
			for range 5 {
				r.Publish(tc.event)
			}
			clk.Step(tc.window - time.Nanosecond)
			r.Publish(tc.event)
			if len(s.sent) != 1 {
				t.Errorf("%d events within the window, want 1", len(s.sent))
			}
			clk.Step(time.Nanosecond)
			r.Publish(tc.event)
			if len(s.sent) != 2 {
				t.Errorf("%d events after the window, want 2", len(s.sent))
			}
		})
	}
}

func TestWhatDistinguishesEvents(t *testing.T) {
	t.Attr("covers", "C544")
	base := NormalEvent(podNamed("a"), "R", "m", "x", "y")
	for _, tc := range []struct {
		name  string
		other Event
		want  int
	}{
		{"same", base, 1},
		{"other reason", NormalEvent(podNamed("a"), "Q", "m", "x", "y"), 2},
		{"reason in another case", NormalEvent(podNamed("a"), "r", "m", "x", "y"), 1},
		{"other value", NormalEvent(podNamed("a"), "R", "m", "x", "z"), 2},
		{"other message only", NormalEvent(podNamed("a"), "R", "n", "x", "y"), 1},
		{"other kind of object only", NormalEvent(&corev1.Node{}, "R", "m", "x", "y"), 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, s, _ := newTestRecorder()
			r.Publish(base, tc.other)
			if len(s.sent) != tc.want {
				t.Errorf("%d events, want %d: %v", len(s.sent), tc.want, s.sent)
			}
		})
	}
	r, s, _ := newTestRecorder()
	r.Publish(NormalEvent(podNamed("a"), "R", "m"), NormalEvent(podNamed("a"), "R", "m"))
	if len(s.sent) != 2 {
		t.Errorf("%d events without dedupe values, want all 2", len(s.sent))
	}
}

func TestPodsOfTheSameNameAreDifferent(t *testing.T) {
	t.Attr("covers", "W018")
	r, s, _ := newTestRecorder()
	for _, namespace := range []string{"one", "two"} {
		pod := podNamed("web-0")
		pod.Namespace, pod.UID = namespace, types.UID(namespace)
		r.Publish(Evicted(pod, "Empty"))
	}
	if len(s.sent) != 2 {
		t.Errorf("%d events, want one for each namespace", len(s.sent))
	}
}

func TestAnotherObstacleIsPublishedAtOnce(t *testing.T) {
	r, s, _ := newTestRecorder()
	pod := podNamed("p")
	noPool := FailedScheduling(pod, errors.New("no dynamic nodepools found"), "NoPools")
	tooBig := FailedScheduling(pod, errors.New("no instance type has enough resources"), "NoInstanceType")
	r.Publish(noPool, tooBig, noPool, tooBig)
	if len(s.sent) != 2 {
		t.Errorf("published %q, want each once", s.sent)
	}
}

func TestWaitingPodsDoNotHideTheBudgetInTheWay(t *testing.T) {
	r, s, _ := newTestRecorder()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	waiting := FailedDraining(node, errors.New("2 pods are waiting to be evicted"), "")
	blocked := FailedDraining(node, errors.New("evicting pod violates a PDB (Pod=default/a)"), "default/a")
	r.Publish(waiting, blocked, waiting, blocked)
	if len(s.sent) != 2 {
		t.Errorf("published %q, want each once", s.sent)
	}
}

func TestOnlyNominationsAreLimited(t *testing.T) {
	t.Attr("covers", "C545 L404")
	r, s, clk := newTestRecorder()
	for i := range 50 {
		r.Publish(Nominated(podNamed(fmt.Sprint(i)), "claim", ""), FailedScheduling(podNamed(fmt.Sprint(i)), fmt.Errorf("why")))
	}
	count := func(reason string) (n int) {
		for _, e := range s.sent {
			if len(e) > len(reason) && e[:len(reason)] == reason {
				n++
			}
		}
		return n
	}
	if diff := cmp.Diff([]int{10, 50}, []int{count("Nominated"), count("FailedScheduling")}); diff != "" {
		t.Errorf("burst (-want +got):\n%s", diff)
	}
	clk.Step(time.Second)
	for i := range 50 {
		r.Publish(Nominated(podNamed(fmt.Sprint(i)), "claim", ""))
	}
	if got := count("Nominated"); got != 10 {
		t.Errorf("%d nominations: dropped ones must keep their slot, want 10", got)
	}
	for i := 100; i < 150; i++ {
		r.Publish(Nominated(podNamed(fmt.Sprint(i)), "claim", ""))
	}
	if got := count("Nominated"); got != 15 {
		t.Errorf("%d nominations a second after the burst, want 10 + 5", got)
	}
}

func TestFailedLaunchesDoNotWaitForNominations(t *testing.T) {
	t.Attr("covers", "N202")
	r, s, _ := newTestRecorder()
	for i := range 50 {
		r.Publish(Nominated(podNamed(fmt.Sprint(i)), "claim", ""))
	}
	s.sent = nil
	for range 2 {
		for i := range 50 {
			r.Publish(PodNotLaunched(podNamed(fmt.Sprint(i)), "claim", errors.New("none left")))
		}
	}
	if len(s.sent) != 10 || s.sent[0] != "InsufficientCapacityError: NodeClaim claim nominated for this pod failed to launch: none left" {
		t.Errorf("%d events, first %q, want the first ten pods", len(s.sent), s.sent[:1])
	}
}

func TestMemoryIsBoundedByTheWindow(t *testing.T) {
	r, _, clk := newTestRecorder()
	for i := range 10000 {
		r.Publish(NormalEvent(podNamed("a"), "R", "m", fmt.Sprint(i)))
		clk.Step(time.Second)
	}
	if got, want := r.published.Len(), int(2*defaultWindow/time.Second); got > want {
		t.Errorf("%d keys remembered, want at most %d", got, want)
	}
}
