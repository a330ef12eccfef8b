// Package nodejoin joins the instances of test servers of clouds to a real control plane: each becomes a Node, which the node simulator then
// simulates. Joining is retried for an instance that does not become a Node; the error is recorded. Terminating an instance removes its Node as
// in a cloud: the kubelet stops reporting, and when the instance is gone the cluster's cloud controller deletes the Node. What an instance
// registers with is up to the packages of the test servers.
package nodejoin

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// HandsOff is the annotation of Nodes that the simulator does not change.
const HandsOff = "local.karpenter-anew.dev/hands-off"

// Label and annotation that identify Nodes for the simulator.
const (
	LabelSimulated = "kwok.x-k8s.io/node"
	Simulated      = "fake"
)

const (
	// pace is the polling interval.
	pace = 200 * time.Millisecond
	// again is the delay before a step is retried after a failure.
	again = time.Second
	// workers is how many instances are served concurrently. They only wait for the API server.
	workers = 20
)

// Phase is what the operating system of an instance does.
type Phase int

// Phases of instances. An instance that is not listed any more is gone.
const (
	// Waiting instances do nothing that concerns the cluster.
	Waiting Phase = iota
	Running
	// Stopping instances end or have ended: their kubelet does not report.
	Stopping
	Gone
)

// Instance is an instance as the joiner needs to know it.
type Instance struct {
	// ID is unique among all instances that there ever were.
	ID    string
	Phase Phase
	// Launched is when it was launched. It joins when it has booted, which takes as long as Options.Boot.
	Launched time.Time
	// BootID changes with each boot; it is shown in the Node.
	BootID string
	// Conditions are what an agent on the node reports beside the kubelet. A condition that is not listed any more stays.
	Conditions []corev1.NodeCondition
	// Node returns the Node that it registers with its status. An error keeps the instance from joining for now.
	Node func(context.Context) (*corev1.Node, error)
}

// Options configure the joiner.
type Options struct {
	// Client is the client of the control plane, with administrator access.
	Client client.Client
	// Instances lists all instances.
	Instances func() []Instance
	// Boot is how long an instance takes from its launch until it joins.
	Boot time.Duration
	// Clock is the clock of the cloud; nil for the real one.
	Clock clock.WithTicker
}

// Joiner joins instances. Make one with New, and call Run.
type Joiner struct {
	o Options

	mu        sync.Mutex
	instances map[string]*record
}

// record is the recorded state of an instance.
type record struct {
	node string
	// boot is the boot ID that the Node shows; conditions are those that were reported.
	boot       string
	conditions []corev1.NodeCondition
	// stage is the stage that the instance has reached.
	stage stage
	err   error
	// next is the time of the next attempt.
	next time.Time
}

type stage int

const (
	waiting stage = iota
	joined
	silent
	removed
)

// New makes a joiner.
func New(o Options) *Joiner {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Joiner{o: o, instances: map[string]*record{}}
}

// Refusal is the error that keeps an instance from becoming a Node; nil if it has joined or is not due yet.
func (j *Joiner) Refusal(instance string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r := j.instances[instance]; r != nil {
		return r.err
	}
	return nil
}

// Node is the name of the Node of an instance; empty if it has not joined yet.
func (j *Joiner) Node(instance string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r := j.instances[instance]; r != nil {
		return r.node
	}
	return ""
}

// Run serves the instances until ctx ends.
func (j *Joiner) Run(ctx context.Context) {
	ticker := j.o.Clock.NewTicker(pace)
	defer ticker.Stop()
	for {
		j.pass(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// pass serves every instance that is due.
func (j *Joiner) pass(ctx context.Context) {
	work := make(chan func(), workers)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for do := range work {
				do()
			}
		})
	}
	for _, i := range j.list() {
		if do := j.due(ctx, i); do != nil {
			work <- do
		}
	}
	close(work)
	all.Wait()
}

// list lists the instances, also those that are not listed any more.
func (j *Joiner) list() []*Instance {
	var out []*Instance
	listed := map[string]bool{}
	for _, i := range j.o.Instances() {
		listed[i.ID] = true
		out = append(out, &i)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for id, r := range j.instances {
		if !listed[id] && r.stage != removed {
			out = append(out, &Instance{ID: id, Phase: Gone})
		}
	}
	return out
}

// due returns the next step for an instance; nil for none.
func (j *Joiner) due(ctx context.Context, i *Instance) func() {
	j.mu.Lock()
	r := j.instances[i.ID]
	if r == nil {
		r = &record{}
		j.instances[i.ID] = r
	}
	now, at, stage := j.o.Clock.Now(), r.next, r.stage
	j.mu.Unlock()
	if now.Before(at) {
		return nil
	}
	var step func() error
	next := stage
	switch {
	case i.Phase == Running && stage == waiting && !now.Before(i.Launched.Add(j.o.Boot)):
		step, next = func() error { return j.join(ctx, i, r) }, joined
	case i.Phase == Running && stage == joined && (r.boot != i.BootID || !slices.Equal(r.conditions, i.Conditions)):
		step = func() error { return j.report(ctx, i, r) }
	case i.Phase == Stopping && stage == joined:
		step, next = func() error { return j.silence(ctx, r.node) }, silent
	case i.Phase == Gone && (stage == joined || stage == silent):
		step, next = func() error { return j.remove(ctx, r.node) }, removed
	default:
		return nil
	}
	return func() {
		err := step()
		j.mu.Lock()
		defer j.mu.Unlock()
		if r.err = err; err != nil {
			r.next = j.o.Clock.Now().Add(again)
			return
		}
		r.stage = next
	}
}

// join registers the Node of an instance.
func (j *Joiner) join(ctx context.Context, i *Instance, r *record) error {
	node, err := i.Node(ctx)
	if err != nil {
		return err
	}
	node.Status.NodeInfo.BootID = i.BootID
	status := node.Status.DeepCopy()
	if err := j.o.Client.Create(ctx, node); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("registering node %q: %w", node.Name, err)
	}
	// The API server drops the status of a new object, except for those that kubelets create.
	before := node.DeepCopy()
	node.Status = *status
	if err := j.o.Client.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("reporting the status of node %q: %w", node.Name, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r.node, r.boot = node.Name, i.BootID
	return nil
}

// report shows the boot ID of an instance that was rebooted, whose Node stays ready, and the conditions that an agent reports.
func (j *Joiner) report(ctx context.Context, i *Instance, r *record) error {
	node := &corev1.Node{}
	if err := j.o.Client.Get(ctx, client.ObjectKey{Name: r.node}, node); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := node.DeepCopy()
	node.Status.NodeInfo.BootID = i.BootID
	for _, c := range i.Conditions {
		at := slices.IndexFunc(node.Status.Conditions, func(had corev1.NodeCondition) bool { return had.Type == c.Type })
		if at < 0 {
			node.Status.Conditions = append(node.Status.Conditions, c)
			continue
		}
		node.Status.Conditions[at] = c
	}
	// Strategic: the conditions that the kubelet reports at the same time stay.
	if err := j.o.Client.Status().Patch(ctx, node, client.StrategicMergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r.boot, r.conditions = i.BootID, i.Conditions
	return nil
}

// silence stops the kubelet of a Node from reporting, so that the Node becomes unknown.
func (j *Joiner) silence(ctx context.Context, name string) error {
	node := &corev1.Node{}
	if err := j.o.Client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := node.DeepCopy()
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[HandsOff] = "true"
	if err := j.o.Client.Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	before = node.DeepCopy()
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
			c.LastTransitionTime = metav1.NewTime(j.o.Clock.Now())
		}
	}
	return client.IgnoreNotFound(j.o.Client.Status().Patch(ctx, node, client.MergeFrom(before)))
}

// remove deletes the Node of an instance that no longer exists. It leaves finalizers to their owners.
func (j *Joiner) remove(ctx context.Context, name string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return client.IgnoreNotFound(j.o.Client.Delete(ctx, node))
}
