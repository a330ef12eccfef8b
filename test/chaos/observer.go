package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/test/poll"
)

const (
	// lookPeriod is how often the observer checks the cluster. A violation lasts for seconds when it happens.
	lookPeriod = 150 * time.Millisecond
	// shortStreak is how many checks in a row see more than a moment between two writes; longStreak is more than a watch may lag behind.
	shortStreak, longStreak = 3, 40
	// largestCapacity is that of the largest instance type: the last node that is launched may be nearly empty.
	largestCapacity = 3
)

// observer checks the cluster during the whole run and records violations.
type observer struct {
	client client.Client
	out    io.Writer
	start  time.Time

	mu       sync.Mutex
	findings []string
	// wanted is how many pods are wanted now; most is the largest such number since the last rest, and before the capacity at that rest.
	wanted, most, before int
	// moving is set while nodes may be disrupted: a replacement may turn out to be one too many when the controller is killed.
	moving bool
	// undisturbed are the pods that must not be evicted, by UID.
	undisturbed map[types.UID]string
	// born is when NodeClaims were created, by name, and nodes, by provider ID.
	born map[string]time.Time
	// checks counts the checks; peak is the most capacity beyond the wanted pods, and disrupted the most nodes at a time.
	checks, peak, disrupted int
	// bootIDs are those of the nodes, by provider ID, and reboots is how often one changed.
	bootIDs map[string]string
	reboots int
	// approval is set if disruption has to be approved. approved are the NodeClaims of plans with an approval, and judged those whose
	// disruption was found to be approved or not.
	approval         bool
	approved, judged map[types.UID]bool
	// over distinguishes lasting violations from momentary ones.
	over poll.Streaks
}

func newObserver(c client.Client, out io.Writer, start time.Time) *observer {
	return &observer{
		client: c, out: out, start: start, undisturbed: map[types.UID]string{}, born: map[string]time.Time{}, bootIDs: map[string]string{},
		approved: map[types.UID]bool{}, judged: map[types.UID]bool{},
	}
}

// say prints a line with the time since the start.
func (o *observer) say(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.print(format, args...)
}

func (o *observer) print(format string, args ...any) {
	_, _ = fmt.Fprintf(o.out, "[%6.1f s] %s\n", time.Since(o.start).Seconds(), fmt.Sprintf(format, args...))
}

// found records a violation, once.
func (o *observer) found(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(fmt.Sprintf(format, args...))
}

func (o *observer) note(text string) {
	if slices.Contains(o.findings, text) {
		return
	}
	o.findings = append(o.findings, text)
	o.print("FOUND: %s", text)
}

// want sets how many pods are wanted from now on.
func (o *observer) want(pods int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wanted, o.most = pods, max(o.most, pods)
}

// move is called before nodes may be disrupted.
func (o *observer) move() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.moving = true
}

// rest is called when the cluster is at rest, with its state.
func (o *observer) rest(now clusterState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.most, o.before, o.moving = o.wanted, now.lasting(), false
}

// guard records the pods that must not be evicted.
func (o *observer) guard(now clusterState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range now.pods {
		if pod := &now.pods[i]; pod.Labels["app"] != work {
			o.undisturbed[pod.UID] = pod.Name
		}
	}
}

// bornAt is when the NodeClaim of this name was created, or the node with this provider ID; zero if it was never seen.
func (o *observer) bornAt(name string) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.born[name]
}

// watch checks until the returned function is called. It skips checks while the API server is down.
func (o *observer) watch(ctx context.Context) (end func()) {
	return poll.Every(ctx, lookPeriod, func(ctx context.Context) {
		if now, err := look(ctx, o.client); err == nil {
			o.judge(now)
		}
	})
}

// judge checks one state against what must always hold.
func (o *observer) judge(now clusterState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.checks++
	for i := range now.claims {
		o.born[now.claims[i].Name] = now.claims[i].CreationTimestamp.Time
	}
	for i := range now.nodes {
		node := &now.nodes[i]
		o.born[node.Spec.ProviderID] = node.CreationTimestamp.Time
		// Simulated nodes have no boot ID before their first reboot.
		if before, known := o.bootIDs[node.Spec.ProviderID]; known && node.Status.NodeInfo.BootID != before {
			o.reboots++
		}
		o.bootIDs[node.Spec.ProviderID] = node.Status.NodeInfo.BootID
	}
	o.judgeApproval(now)
	disrupted, going := now.disrupted()
	o.disrupted = max(o.disrupted, going)
	if o.over.Reached("budget", going > budget, shortStreak) {
		o.note(fmt.Sprintf("%d nodes are being disrupted at once, the budget is %d", going, budget))
	}
	// A node whose taint was written although the response was lost is untainted once the controller sees it; another may be tainted before.
	if o.over.Reached("closed", disrupted > budget, longStreak) {
		o.note(fmt.Sprintf("%d nodes are tainted or disrupted at once, the budget is %d", disrupted, budget))
	}
	capacity := now.lasting()
	bound := max(o.before, o.most+largestCapacity)
	if o.moving {
		bound += budget * largestCapacity
	}
	o.peak = max(o.peak, capacity-o.most)
	if o.over.Reached("capacity", capacity > bound, shortStreak) {
		o.note(fmt.Sprintf("there is capacity for %d pods, at most %d are wanted, and at most %d are expected", capacity, o.most, bound))
	}
	there := map[types.UID]*corev1.Pod{}
	for i := range now.pods {
		there[now.pods[i].UID] = &now.pods[i]
	}
	for uid, name := range o.undisturbed {
		if pod := there[uid]; pod == nil || pod.DeletionTimestamp != nil {
			o.note(fmt.Sprintf("pod %s must not be evicted and is terminating or gone", name))
		}
	}
}
