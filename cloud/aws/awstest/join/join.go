// Package join joins the instances of the AWS test server to a real control plane: each becomes a Node with the labels, taints and
// resources of its user data, which the node simulator then simulates. An instance whose user data is wrong, which cannot reach the
// API server at the given endpoint, or whose role has no access, does not become a Node; the error is recorded. Terminating an
// instance removes its Node as on EC2: the kubelet stops reporting, and when the instance is terminated the cluster's cloud
// controller deletes the Node.
package join

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest/firstboot"
)

// HandsOff is the annotation of Nodes that the simulator does not change.
const HandsOff = "local.karpenter-anew.dev/hands-off"

const (
	// pace is the polling interval.
	pace = 200 * time.Millisecond
	// again is the delay before joining is retried after a failure.
	again = time.Second
	// workers is how many instances are served concurrently. They only wait for the API server.
	workers = 20
)

// Options configure the joiner.
type Options struct {
	Account *awstest.Account
	// Client is the client of the control plane, with administrator access.
	Client client.Client
	// Cluster is the name of the cluster. Nodes that name another cluster are ignored.
	Cluster string
	// Roles are the roles whose instances have access to the cluster; see Grant.
	Roles []string
	// Boot is how long an instance takes from its launch until it joins.
	Boot time.Duration
	// Clock is the clock of the account; nil for the real one.
	Clock clock.WithTicker
	// Reach asks an API server for its version, trusting an authority (PEM); nil for the default implementation.
	Reach func(ctx context.Context, endpoint string, authority []byte) error
}

// Joiner joins instances. Make one with New, and call Run.
type Joiner struct {
	o Options

	mu        sync.Mutex
	instances map[string]*record
	roles     map[string]bool
	reached   map[string]bool
}

// record is the recorded state of an instance.
type record struct {
	settings firstboot.Settings
	node     string
	// boot is the boot ID that the Node shows.
	boot string
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
	if o.Reach == nil {
		o.Reach = reach
	}
	j := &Joiner{o: o, instances: map[string]*record{}, roles: map[string]bool{}, reached: map[string]bool{}}
	j.Grant(o.Roles...)
	return j
}

// Grant gives roles access to the cluster, like EKS access entries.
func (j *Joiner) Grant(roles ...string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, role := range roles {
		j.roles[role] = true
	}
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

// Settings are what an instance read from its user data; false if it has not booted yet.
func (j *Joiner) Settings(instance string) (firstboot.Settings, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.instances[instance]
	if r == nil || r.node == "" {
		return firstboot.Settings{}, false
	}
	return r.settings, true
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
	for _, m := range j.o.Account.Hosts() {
		if do := j.due(ctx, &m); do != nil {
			work <- do
		}
	}
	close(work)
	all.Wait()
}

// due returns the next step for an instance; nil for none.
func (j *Joiner) due(ctx context.Context, m *awstest.Host) func() {
	j.mu.Lock()
	r := j.instances[m.ID]
	if r == nil {
		r = &record{}
		j.instances[m.ID] = r
	}
	now, at, stage := j.o.Clock.Now(), r.next, r.stage
	j.mu.Unlock()
	if now.Before(at) {
		return nil
	}
	var step func() error
	next := stage
	switch {
	case m.State == "running" && stage == waiting && !now.Before(m.Launched.Add(j.o.Boot)):
		step, next = func() error { return j.join(ctx, m, r) }, joined
	case m.State == "running" && stage == joined && r.boot != m.BootID():
		step = func() error { return j.reboot(ctx, m, r) }
	case (m.State == "shutting-down" || m.State == "stopping" || m.State == "stopped") && stage == joined:
		step, next = func() error { return j.silence(ctx, r.node) }, silent
	case m.State == "terminated" && (stage == joined || stage == silent):
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
func (j *Joiner) join(ctx context.Context, m *awstest.Host, r *record) error {
	s, err := firstboot.Read(firstboot.KindOf(m.ImageName), m.UserData)
	if err != nil {
		return err
	}
	if err := j.admit(ctx, m, s); err != nil {
		return err
	}
	node := nodeOf(m, s)
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
	r.settings, r.node, r.boot = s, node.Name, m.BootID()
	return nil
}

// reboot shows the boot ID of an instance that was rebooted. Its Node stays ready.
func (j *Joiner) reboot(ctx context.Context, m *awstest.Host, r *record) error {
	node := &corev1.Node{}
	if err := j.o.Client.Get(ctx, client.ObjectKey{Name: r.node}, node); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := node.DeepCopy()
	node.Status.NodeInfo.BootID = m.BootID()
	if err := j.o.Client.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r.boot = m.BootID()
	return nil
}

// admit checks the preconditions of joining: the connection to the API server, and the access of the role.
func (j *Joiner) admit(ctx context.Context, m *awstest.Host, s firstboot.Settings) error {
	if s.Endpoint != "" {
		if err := j.connect(ctx, s.Endpoint, s.Authority); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case s.Cluster != j.o.Cluster:
		return fmt.Errorf("unauthorized: the token is for cluster %q", s.Cluster)
	case s.IPv6 && m.IPv6 == "":
		return errors.New("the kubelet does not start: the instance has no IPv6 address")
	case m.Role == "":
		return errors.New("unauthorized: the instance has no profile with a role")
	case !j.roles[m.Role]:
		return fmt.Errorf("unauthorized: role %q has no access to the cluster, there are %v", m.Role, slices.Sorted(maps.Keys(j.roles)))
	}
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
