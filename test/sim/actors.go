package sim

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/embedded/kubelet"
	"github.com/karpenter-anew/karpenter/embedded/scheduler"
	"github.com/karpenter-anew/karpenter/embedded/workloads"
)

// actor is a component of the cluster that takes steps when something has changed, or is due.
type actor struct {
	name  string
	world *World
	api   *API
	// step does what is due and returns when something will be, or the zero time.
	step        func() (time.Time, error)
	least, most time.Duration
	// reads are the kinds whose changes concern it; empty for all.
	reads []client.Object

	mu  sync.Mutex
	due bool
	// next is when the actor acts even if nothing changes.
	next *event
}

// wake schedules a step.
func (a *actor) wake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.due {
		return
	}
	a.due = true
	a.world.soon(a.name, a.name, a.least, a.most, a.run)
}

func (a *actor) run() {
	a.mu.Lock()
	a.due = false
	if a.next != nil {
		a.world.stop(a.next)
		a.next = nil
	}
	a.mu.Unlock()
	var next time.Time
	err := a.api.do(func() (err error) {
		next, err = a.step()
		return err
	})
	switch {
	case err != nil && !transient(err):
		panic(fmt.Sprintf("%s: %v", a.name, err))
	case err != nil:
		next = time.Now().Add(100 * time.Millisecond)
	}
	if next.IsZero() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = a.world.after(max(time.Millisecond, time.Until(next)), a.name+" due", a.wake)
}

// addActors adds what a cluster has beside the controllers of this project. Each acts some time after something has changed.
func addActors(w *World, api *API, zones []string) {
	kubelets, placer, f := &kubelet.Kubelets{}, &scheduler.Scheduler{}, api.faults
	disks := &volumes{world: w, faults: f, zones: zones, due: map[string]time.Time{}}
	never := func(f func() error) func() (time.Time, error) {
		return func() (time.Time, error) { return time.Time{}, f() }
	}
	pod, node, claim, volume := &corev1.Pod{}, &corev1.Node{}, &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
	for _, a := range []*actor{
		{
			name: "kubelets", least: 50 * time.Millisecond, most: max(2*time.Second, f.MaxKubelet), reads: []client.Object{pod, node},
			step: func() (time.Time, error) { return kubelets.Step(api.View) },
		},
		{
			name: "kube-scheduler", least: 5 * time.Millisecond, most: max(100*time.Millisecond, f.MaxBind),
			reads: []client.Object{pod, node, claim, volume, &corev1.Namespace{}, &storagev1.StorageClass{}, &appsv1.ReplicaSet{}, &appsv1.StatefulSet{}},
			step:  never(func() error { return placer.Step(context.Background(), api.View) }),
		},
		{
			name: "workloads", least: 5 * time.Millisecond, most: 100 * time.Millisecond,
			reads: []client.Object{
				pod, node, &appsv1.Deployment{}, &appsv1.ReplicaSet{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &appsv1.ControllerRevision{},
				&batchv1.Job{}, &policyv1.PodDisruptionBudget{},
			},
			step: never(func() error { return workloads.Step(api.View) }),
		},
		{
			name: "volumes", least: 5 * time.Millisecond, most: 100 * time.Millisecond,
			reads: []client.Object{pod, node, claim, volume, &storagev1.VolumeAttachment{}},
			step:  func() (time.Time, error) { return disks.step(api.View) },
		},
		{name: "garbage collector", least: 50 * time.Millisecond, most: time.Second, step: func() (time.Time, error) {
			wrote, err := api.Registry.Collect()
			if wrote {
				return time.Now().Add(10 * time.Millisecond), err
			}
			return time.Time{}, err
		}},
	} {
		a.world, a.api = w, api
		api.onWrite(a.wake, a.reads...)
	}
}
