package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestTable: names are unique, and every attack but the first attacks with objects of the attacker's namespace, within the size of a request.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for i, a := range attacks() {
		if names[a.name] || a.what == "" {
			t.Errorf("attack %q has a name of another, or no description", a.name)
		}
		names[a.name] = true
		objects := a.objects()
		if len(objects) == 0 && i > 0 {
			t.Errorf("attack %q creates nothing", a.name)
		}
		if a.gone && a.judge != nil {
			t.Errorf("attack %q is gone when it is judged", a.name)
		}
		for _, o := range objects {
			text, err := o.(interface{ Marshal() ([]byte, error) }).Marshal()
			if err != nil || o.GetNamespace() != attacker || len(text) > 1<<20 {
				t.Errorf("attack %q creates %T %s/%s of %d bytes (%v)", a.name, o, o.GetNamespace(), o.GetName(), len(text), err)
			}
		}
	}
}

// TestLog: long messages, long passes and panics are found in a log.
func TestLog(t *testing.T) {
	long := strings.Repeat("x", messageLimit+1)
	for name, c := range map[string]struct{ log, want string }{
		"nothing":        {`{"message":"planned","duration":"1.5s"}` + "\n" + `{"message":"x","stacktrace":"` + long + `"}`, ""},
		"a long message": {`{"message":"` + long + `"}`, "more than 1024 bytes"},
		"a long field":   {`{"message":"could not schedule pod(s)","error":"` + long + `"}`, `"error" of log line "could not schedule`},
		"a loop":         {strings.Repeat(`{"error":"NodeClaim.karpenter.sh \"a\" is invalid: x"}`+"\n", 6), "refused NodeClaims as invalid in 6 passes"},
		"a panic":        {"panic: oh\n", "the controller logs: panic: oh"},
		"a caught panic": {`{"message":"Observed a panic"}`, "the controller logs"},
	} {
		r := &result{}
		r.readLog(strings.NewReader(c.log))
		if got := strings.Join(r.findings, "; "); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
		if name == "nothing" && r.pass.Seconds() != 1.5 {
			t.Errorf("the longest pass took %s, want 1.5s", r.pass)
		}
	}
}

// TestSteps: a wave of three pods, of which two need a node, beside a pod of another wave.
func TestSteps(t *testing.T) {
	begin := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	l := &timeline{pods: map[string]*podSteps{}, nodes: map[string]time.Time{}}
	pod := func(name, wave, node string, phase corev1.PodPhase, reason string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{waveLabel: wave}}}
		p.Spec.NodeName, p.Status.Phase = node, phase
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Reason: reason}}
		return p
	}
	node := func(name string, ready corev1.ConditionStatus, taints ...corev1.Taint) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		return n
	}
	starting := corev1.Taint{Key: v1.UnregisteredTaintKey, Effect: corev1.TaintEffectNoExecute}
	for seconds, o := range []any{
		node("old", corev1.ConditionTrue),
		pod("a", "1", "", corev1.PodPending, corev1.PodReasonUnschedulable),
		pod("b", "1", "", corev1.PodPending, corev1.PodReasonUnschedulable),
		pod("other", "2", "", corev1.PodPending, corev1.PodReasonUnschedulable),
		node("new", corev1.ConditionFalse),
		node("new", corev1.ConditionTrue, starting),
		node("new", corev1.ConditionTrue),
		node("unused", corev1.ConditionTrue),
		pod("a", "1", "new", corev1.PodPending, ""),
		pod("b", "1", "new", corev1.PodPending, ""),
		pod("a", "1", "new", corev1.PodRunning, ""),
		pod("c", "1", "old", corev1.PodRunning, ""),
		pod("b", "1", "new", corev1.PodRunning, ""),
		pod("other", "2", "new", corev1.PodRunning, ""),
	} {
		l.see(o, at(seconds))
		l.see(o, at(seconds+100)) // again: only the first time counts
	}
	want := steps{refusal: 2 * time.Second, nodes: 4 * time.Second, binding: 5 * time.Second, running: time.Second}
	if got := l.steps("1", begin); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := l.steps("none", begin); got != (steps{}) {
		t.Errorf("a wave without pods took %s", got)
	}
}

// TestWavesAreJudged by how long they took, and by how long the controller did.
func TestWavesAreJudged(t *testing.T) {
	for name, c := range map[string]struct {
		took time.Duration
		of   steps
		want string
	}{
		"in time":    {11 * time.Second, steps{nodes: nodesWait}, ""},
		"late":       {13 * time.Second, steps{binding: 9 * time.Second}, "wave 1 of 300 honest pods ran after 13.0 s; 12.0 s are acceptable. Pods"},
		"late nodes": {11 * time.Second, steps{nodes: nodesWait + time.Second}, "look at the controller"},
	} {
		r := &result{}
		r.judgeWave(1, 300, c.took, c.of, acceptable{ran: 12 * time.Second, nodes: nodesWait})
		if got := strings.Join(r.findings, "; "); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}

func TestMemoryIsMeasured(t *testing.T) {
	if bytes, err := peakMemory(1); err != nil || bytes <= 0 {
		t.Errorf("process 1 used %d bytes at most, %v", bytes, err)
	}
	if _, err := peakMemory(-1); err == nil {
		t.Error("a process that does not exist has memory")
	}
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{{"-attack=("}, {"-none"}, {"stray"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
	s, err := parse([]string{"-list", "-attack=grace"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := runAll(t.Context(), s, &out); err != nil || !strings.Contains(out.String(), "endless-grace") || strings.Contains(out.String(), "none") {
		t.Errorf("listed %q, %v", &out, err)
	}
	if s, err = parse([]string{"-list", "-attack=^no such$"}, io.Discard); err != nil || runAll(t.Context(), s, io.Discard) == nil {
		t.Error("no attack of that name is no error")
	}
}
