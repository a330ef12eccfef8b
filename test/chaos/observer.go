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
	// lookPeriod is how often the observer looks. What it watches for lasts for seconds when it happens.
	lookPeriod = 150 * time.Millisecond
	// glance is how many looks in a row see more than a moment between two states; longLook is more than a watch may lag behind.
	glance, longLook = 3, 40
	// largestRoom is the room of the largest machine: the last one that is launched may be nearly empty.
	largestRoom = 3
)

// observer looks at the cluster during the whole run and notes what must never be so.
type observer struct {
	client client.Client
	out    io.Writer
	start  time.Time

	mu       sync.Mutex
	findings []string
	// wanted is how many pods are wanted now; most is the largest such number since the last rest, and before the room there was then.
	wanted, most, before int
	// moving is set while nodes may be disrupted: what was launched for them may turn out to be one too many when the controller is killed.
	moving bool
	// undisturbed are the pods that nobody may touch, by their UID.
	undisturbed map[types.UID]string
	// looks counts the looks; peak is the most room beyond what pods wanted then, and disrupted the most nodes at a time.
	looks, peak, disrupted int
	// over tells what was too much for a moment from what lasts.
	over poll.Streaks
}

func newObserver(c client.Client, out io.Writer, start time.Time) *observer {
	return &observer{client: c, out: out, start: start, undisturbed: map[types.UID]string{}}
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

// found notes something that must not be, once.
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

// want says how many pods are wanted from now on.
func (o *observer) want(pods int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wanted, o.most = pods, max(o.most, pods)
}

// move says that nodes may be disrupted from now on.
func (o *observer) move() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.moving = true
}

// rest says that the cluster is at rest and looks so.
func (o *observer) rest(now picture) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.most, o.before, o.moving = o.wanted, now.lasting(), false
}

// guard notes the pods that nobody may touch.
func (o *observer) guard(now picture) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range now.pods {
		if pod := &now.pods[i]; pod.Labels["app"] != work {
			o.undisturbed[pod.UID] = pod.Name
		}
	}
}

// watch looks until the returned function is called. While the API server is away there is nothing to see.
func (o *observer) watch(ctx context.Context) (end func()) {
	return poll.Every(ctx, lookPeriod, func(ctx context.Context) {
		if now, err := look(ctx, o.client); err == nil {
			o.judge(now)
		}
	})
}

// judge holds one look against what must always be so.
func (o *observer) judge(now picture) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.looks++
	disrupted, going := now.disrupted()
	o.disrupted = max(o.disrupted, going)
	if o.over.Reached("budget", going > budget, glance) {
		o.note(fmt.Sprintf("%d nodes are being disrupted at once, the budget is %d", going, budget))
	}
	// A node that was closed when the answer was lost is opened again when that is seen, and another one may be closed before.
	if o.over.Reached("closed", disrupted > budget, longLook) {
		o.note(fmt.Sprintf("%d nodes are closed or disrupted at once, the budget is %d", disrupted, budget))
	}
	room := now.lasting()
	bound := max(o.before, o.most+largestRoom)
	if o.moving {
		bound += budget * largestRoom
	}
	o.peak = max(o.peak, room-o.most)
	if o.over.Reached("capacity", room > bound, glance) {
		o.note(fmt.Sprintf("there is room for %d pods, %d are wanted at most, and room for %d was to be expected at most", room, o.most, bound))
	}
	there := map[types.UID]*corev1.Pod{}
	for i := range now.pods {
		there[now.pods[i].UID] = &now.pods[i]
	}
	for uid, name := range o.undisturbed {
		if pod := there[uid]; pod == nil || pod.DeletionTimestamp != nil {
			o.note(fmt.Sprintf("pod %s must not be disturbed and goes or is gone", name))
		}
	}
}
