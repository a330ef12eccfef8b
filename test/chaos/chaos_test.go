package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/test/controlplane"
)

// TestShortRun kills the built controller three times: while pods are created, while nodes drift and while one is deleted; and the same where
// disruption has to be approved.
func TestShortRun(t *testing.T) {
	s := settings{cloud: cloudKwok, seed: 3, kills: 3, share: 0.1, stall: 0.05, clock: true, launcher: os.Getenv(controlplane.LauncherEnv), controller: os.Getenv("KARPENTER_BIN")}
	if s.launcher == "" || s.controller == "" {
		t.Fatalf("%s and KARPENTER_BIN must be set: run \"make test\", or eval \"$(make env)\" first", controlplane.LauncherEnv)
	}
	for name, approval := range map[string]bool{"without approval": false, "with approval": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s
			s.approval = approval
			var out bytes.Buffer
			if err := run(t.Context(), s, &out); err != nil {
				t.Errorf("%v\n%s", err, &out)
			}
		})
	}
}

func TestSameSeedSameSchedule(t *testing.T) {
	for _, kills := range []int{1, 3, 9, 10, 11, 12, 25, 50} {
		schedule := func(seed uint64) []round {
			return newSchedule(settings{seed: seed, kills: kills, outage: time.Second, readOnly: time.Minute})
		}
		first := schedule(7)
		if !reflect.DeepEqual(first, schedule(7)) {
			t.Errorf("two schedules of the same seed differ")
		}
		if reflect.DeepEqual(first, schedule(8)) {
			t.Errorf("the schedules of two seeds are the same")
		}
		steps, outages, readOnly, writes := slices.Concat(first...), 0, 0, 0
		for _, s := range steps {
			if s.readOnly > 0 {
				readOnly++
			}
			if s.write > 0 {
				writes++
			}
			if s.outage > 0 {
				outages++
			}
		}
		if len(steps) != kills || outages != 1 || readOnly != 1 || kills > 20 && (writes < kills/4 || writes > kills*3/4) {
			t.Errorf("%d kills, %d after a write, %d outages and %d times without writes, want %d, about half, 1 and 1", len(steps), writes, outages, readOnly, kills)
		}
	}
}

func TestProxyRefusesTheSameWritesUnderTheSameSeed(t *testing.T) {
	const writes = 400
	fates := func(seed uint64, share float64) (codes []int, done int) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				done++
			}
			_, _ = io.WriteString(w, "yes")
		}))
		defer server.Close()
		p, err := startProxy(&rest.Config{Host: server.URL}, seed, share, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		for i := range writes {
			response, err := http.Post(p.address+"/api", "text/plain", strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			var status metav1.Status
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK {
				if err := json.Unmarshal(text, &status); err != nil || int(status.Code) != response.StatusCode || status.Status != metav1.StatusFailure {
					t.Errorf("write %d is answered %s", i, text)
				}
			}
			codes = append(codes, response.StatusCode)
		}
		if response, err := http.Get(p.address); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("a read is answered %v, %v", response, err)
		} else {
			_ = response.Body.Close()
		}
		return codes, done
	}
	first, done := fates(1, 0.5)
	again, _ := fates(1, 0.5)
	if !slices.Equal(first, again) {
		t.Error("two runs of the same seed differ")
	}
	seen := map[int]int{}
	for _, code := range first {
		seen[code]++
	}
	for _, code := range []int{200, 409, 429, 500} {
		if seen[code] < writes/20 {
			t.Errorf("%d answers %d of %d", seen[code], code, writes)
		}
	}
	if done <= seen[200] || done >= writes {
		t.Errorf("%d writes were done and %d answered well: some are to be done and answered badly, and some not done", done, seen[200])
	}
	if all, done := fates(1, 0); done != writes || slices.ContainsFunc(all, func(code int) bool { return code != 200 }) {
		t.Error("writes are refused though none should be")
	}
}

// TestProxyCrashes: the write after which the controller is to be killed is done and not answered; events do not count.
func TestProxyCrashes(t *testing.T) {
	var done []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { done = append(done, r.URL.Path) }))
	defer server.Close()
	p, err := startProxy(&rest.Config{Host: server.URL}, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	crash := p.crashAfter(2)
	ctx, killed := context.WithCancel(t.Context())
	go func() { <-crash; killed() }()
	var answers []string
	for _, path := range []string{"/first", "/api/events", "/last"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			answers = append(answers, path)
			_ = response.Body.Close()
		}
	}
	if want := []string{"/first", "/api/events", "/last"}; !slices.Equal(done, want) || !slices.Equal(answers, want[:2]) {
		t.Errorf("%q were done and %q answered, want all and all but the last", done, answers)
	}
	_ = p.crashAfter(0)
	p.refuse(true)
	for _, refused := range []bool{true, false} {
		p.refuse(refused)
		response, err := http.Post(p.address+"/later", "text/plain", http.NoBody)
		if err != nil || (response.StatusCode == http.StatusServiceUnavailable) != refused {
			t.Errorf("a write while writes are refused (%t) is answered %v, %v", refused, response, err)
		}
		read, err := http.Get(p.address)
		if err != nil || read.StatusCode != http.StatusOK {
			t.Errorf("a read while writes are refused (%t) is answered %v, %v", refused, read, err)
		}
		_ = errors.Join(response.Body.Close(), read.Body.Close())
	}
	if done[len(done)-1] != "/" || slices.Index(done, "/later") != len(done)-2 || len(done) != 6 {
		t.Errorf("%q were done, want no write while they are refused", done)
	}
}

func TestInstancesWithoutClaims(t *testing.T) {
	now := calm()
	now.claims[0].Status.ProviderID, now.claims[1].Status.ProviderID = "aws:///zone/i-1", "aws:///zone/i-2"
	setup := &cloudSetup{instances: func() []string { return []string{"i-1", "i-2", "i-3"} }, refusal: func(string) error { return nil }}
	if why := strings.Join(setup.unrest(now), "; "); !strings.Contains(why, "i-3") || strings.Contains(why, "i-1") {
		t.Errorf("unrest: %q, want that i-3 has no claim", why)
	}
	if why := new(cloudSetup).unrest(now); len(why) > 0 {
		t.Errorf("a cloud without instances is not at rest: %q", why)
	}
}

func TestProxyLetsWatchesLagBehind(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "news") }))
	defer server.Close()
	p, err := startProxy(&rest.Config{Host: server.URL}, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	p.stall = 0.1
	lags := func(seed uint64) (out []time.Duration) {
		p.stalling = rand.New(rand.NewPCG(seed, 2))
		for range 100 {
			out = append(out, p.lag())
		}
		return out
	}
	first := lags(1)
	if !slices.Equal(first, lags(1)) || slices.Equal(first, lags(2)) {
		t.Error("the stalls are not those of the seed")
	}
	if late := len(slices.DeleteFunc(first, func(d time.Duration) bool { return d == 0 })); late < 3 || late > 30 {
		t.Errorf("%d of 100 messages are late", late)
	}
	p.behave()
	response, err := http.Get(p.address + "/api?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); string(text) != "news" {
		t.Errorf("a watch says %q, %v", text, err)
	}
}

// calm is a cluster at rest with two nodes and four pods.
func calm() clusterState {
	var p clusterState
	for _, name := range []string{"a", "b"} {
		claim := v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{coresLabel: "4"}}}
		claim.Status.ProviderID = "kwok://" + name
		claim.Status.Conditions = []metav1.Condition{{Type: v1.ConditionTypeInitialized, Status: metav1.ConditionTrue}}
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		node.Spec.ProviderID = claim.Status.ProviderID
		p.claims, p.nodes = append(p.claims, claim), append(p.nodes, node)
	}
	for _, name := range []string{"1", "2", "3", "4"} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{"app": work}}}
		pod.Status.Phase = corev1.PodRunning
		p.pods = append(p.pods, pod)
	}
	return p
}

func is(conditionType string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue}
}

func TestUnrest(t *testing.T) {
	if why := calm().unrest(4, true); len(why) > 0 {
		t.Errorf("a cluster at rest is not: %q", why)
	}
	now := metav1.Now()
	for _, c := range []struct {
		want string
		edit func(*clusterState)
	}{
		{"3 of 4 pods running", func(p *clusterState) { p.pods[0].Status.Phase = corev1.PodPending }},
		{"3 of 4 pods running", func(p *clusterState) { p.pods[0].DeletionTimestamp = &now }},
		{"has no nodeclaim", func(p *clusterState) { p.claims = p.claims[:1] }},
		{"has no instance", func(p *clusterState) { p.nodes = p.nodes[:1] }},
		{"nodeclaim a was deleted", func(p *clusterState) { p.claims[0].DeletionTimestamp = &now }},
		{"node a was deleted", func(p *clusterState) { p.nodes[0].DeletionTimestamp = &now }},
		{"is not initialized", func(p *clusterState) { p.claims[0].Status.Conditions = nil }},
		{"is drifted", func(p *clusterState) {
			p.claims[0].Status.Conditions = append(p.claims[0].Status.Conditions, is(v1.ConditionTypeDrifted))
		}},
		{"is marked", func(p *clusterState) {
			p.claims[0].Status.Conditions = append(p.claims[0].Status.Conditions, is(v1.ConditionTypeDisruptionReason))
		}},
		{"is rebooting", func(p *clusterState) {
			p.claims[0].Status.Conditions = append(p.claims[0].Status.Conditions, is(v1.ConditionTypeRebooting))
		}},
		{"has the taints", func(p *clusterState) { p.nodes[0].Spec.Taints = []corev1.Taint{v1.RebootingNoScheduleTaint()} }},
		{"has the taints", func(p *clusterState) { p.nodes[0].Spec.Taints = []corev1.Taint{v1.DisruptedNoScheduleTaint()} }},
		{"has the taints", func(p *clusterState) { p.nodes[0].Spec.Taints = []corev1.Taint{{Key: v1.UnregisteredTaintKey}} }},
		{"the nodes cost as much as 9", func(p *clusterState) { p.claims[0].Labels[coresLabel] = "14" }},
	} {
		p := calm()
		c.edit(&p)
		if why := strings.Join(p.unrest(4, true), "; "); !strings.Contains(why, c.want) {
			t.Errorf("the obstacle is %q, want %q", why, c.want)
		}
	}
}

func TestCheapest(t *testing.T) {
	for pods, want := range map[int]int{-1: 0, 0: 0, 1: 1, 2: 2, 3: 2, 4: 3, 6: 4, 7: 5, 30: 20} {
		if got := cheapest(pods); got != want {
			t.Errorf("%d pods cost %d, want %d", pods, got, want)
		}
	}
}

func TestCapacityOfANodeThatIsNotLaunched(t *testing.T) {
	claim := &v1.NodeClaim{}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2100m")}
	if got := capacity(claim); got != 3 {
		t.Errorf("capacity for %d pods, want 3", got)
	}
}

func TestObserverFinds(t *testing.T) {
	now := metav1.Now()
	marked := is(v1.ConditionTypeDisruptionReason)
	for _, c := range []struct {
		name, want string
		edit       func(*clusterState)
	}{
		{"nothing", "", func(*clusterState) {}},
		{"too many nodes", "there is capacity for 12 pods, at most 5 are wanted", func(p *clusterState) { p.claims = append(p.claims, p.claims...) }},
		{"nodes being deleted do not count", "", func(p *clusterState) {
			p.claims = append(p.claims, p.claims...)
			p.claims[0].DeletionTimestamp, p.claims[1].DeletionTimestamp = &now, &now
		}},
		{"a broken budget", "4 nodes are being disrupted at once", func(p *clusterState) {
			for range 4 {
				claim := p.claims[0].DeepCopy()
				claim.DeletionTimestamp = &now
				claim.Status.Conditions = append(claim.Status.Conditions, marked)
				p.claims = append(p.claims, *claim)
			}
		}},
		{"too many tainted nodes", "4 nodes are tainted or disrupted at once", func(p *clusterState) {
			p.nodes[0].Spec.Taints = []corev1.Taint{v1.DisruptedNoScheduleTaint()}
			p.claims = append(p.claims, p.claims[0], p.claims[0], p.claims[0])
		}},
		{"a disruption reason alone does not count", "", func(p *clusterState) {
			o := p.claims[0].DeepCopy()
			o.Status.Conditions = append(o.Status.Conditions, marked)
			o.Spec.Resources.Requests, o.Labels = nil, map[string]string{coresLabel: "1"}
			p.claims = append(p.claims, *o, *o, *o, *o)
		}},
		{"terminating instances do not count", "", func(p *clusterState) {
			for range 4 {
				claim := p.claims[0].DeepCopy()
				claim.DeletionTimestamp = &now
				claim.Status.Conditions = append(claim.Status.Conditions, marked, is(v1.ConditionTypeInstanceTerminating))
				p.claims = append(p.claims, *claim)
			}
		}},
		{"a guarded pod is gone", "pod g must not be evicted", func(p *clusterState) { p.pods = p.pods[:4] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := calm()
			p.pods = append(p.pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "g", UID: "g", Labels: map[string]string{"app": guarded}}})
			o := newObserver(nil, io.Discard, time.Now())
			o.want(5)
			o.rest(p)
			o.guard(p)
			c.edit(&p)
			for range longStreak {
				o.judge(p)
			}
			if got := strings.Join(o.findings, "; "); !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{{"-kills=0"}, {"-refuse=1"}, {"-cloud=x"}, {"-stall=-1"}, {"-seed=x"}, {"stray"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
	if s, err := parse([]string{"-seed=7"}, io.Discard); err != nil || s.seed != 7 || s.kills != 50 || s.outage != 30*time.Second || !s.packed {
		t.Errorf("settings %+v, error %v", s, err)
	}
}
