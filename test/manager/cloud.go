package manager

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
)

const (
	// outage is how long an offering that ran out stays so.
	outage = 3 * time.Minute
	// mostCPU is how many CPUs an instance has at most, so that a few hundred pods need some tens of nodes.
	mostCPU = 8
	// mostTypes is how many instance types there are.
	mostTypes = 24
)

// datacenter is the cloud: instances, and offerings that run out.
type datacenter struct {
	cluster *Cluster
	rules   v1.LabelRules
	types   []*cloud.InstanceType

	mu        sync.Mutex
	instances map[string]*instance
	byClaim   map[types.UID]string
	// out are the offerings that ran out, and until when.
	out      map[string]time.Time
	launched int
	// image counts the images that there have been.
	image int
}

// instance is what a launch made.
type instance struct {
	claim    *v1.NodeClaim
	owner    types.UID
	launched time.Time
	image    int
	// ending is set once its termination was asked for.
	ending bool
}

// account is the cloud as a replica calls it.
type account struct {
	*datacenter

	replica *Replica
}

var _ cloud.Provider = (*account)(nil)

func newDatacenter(c *Cluster) (*datacenter, error) {
	template, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		return nil, fmt.Errorf("reading the catalog: %w", err)
	}
	all, err := template.Provider.InstanceTypes(c.ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the catalog: %w", err)
	}
	all = slices.DeleteFunc(all, func(t *cloud.InstanceType) bool { return t.Capacity.Cpu().Value() > mostCPU })
	var some []*cloud.InstanceType
	for n := range min(mostTypes, len(all)) {
		some = append(some, all[n*len(all)/mostTypes])
	}
	return &datacenter{cluster: c, rules: template.Labels, types: some, instances: map[string]*instance{}, byClaim: map[types.UID]string{}, out: map[string]time.Time{}}, nil
}

// call makes a call: request, effect, answer.
func (a *account) call(ctx context.Context, least, most time.Duration, f func() error) error {
	if err := sleep(ctx, a.cluster.chance.between(least/2, most/2)); err != nil {
		return err
	}
	if a.replica.ctx.Err() != nil {
		return errGone
	}
	if a.cluster.chance.happens("cloud error", func(f *Faults) float64 { return f.CloudError }) {
		return fmt.Errorf("throttled: %w", errInjected)
	}
	err := f()
	if late := sleep(ctx, a.cluster.chance.between(least/2, most/2)); late != nil {
		return late
	}
	return err
}

func offeringKey(t *cloud.InstanceType, o *cloud.Offering) string {
	return t.Name + "/" + o.Zone() + "/" + o.CapacityType()
}

// available are the instance types now. It wants the lock.
func (d *datacenter) available() []*cloud.InstanceType {
	now := time.Now()
	maps.DeleteFunc(d.out, func(_ string, until time.Time) bool { return !now.Before(until) })
	out := slices.Clone(d.types)
	if len(d.out) == 0 {
		return out
	}
	for i, t := range d.types {
		changed := *t
		changed.Offerings = slices.Clone(t.Offerings)
		for j := range changed.Offerings {
			if _, ran := d.out[offeringKey(t, &t.Offerings[j])]; ran {
				changed.Offerings[j].Available = false
			}
		}
		out[i] = &changed
	}
	return out
}

// Create implements cloud.Provider.
func (a *account) Create(ctx context.Context, claim *v1.NodeClaim) (out *v1.NodeClaim, err error) {
	err = a.call(ctx, time.Second, 4*time.Second, func() error {
		a.cluster.leaders.acted(a.replica, operation{method: "launch", resource: "instances", write: true})
		out, err = a.launch(claim)
		return err
	})
	if err == nil && a.cluster.chance.happens("lost launch", func(f *Faults) float64 { return f.LostLaunch }) {
		return nil, fmt.Errorf("launching: %w", errInjected)
	}
	return out, err
}

func (d *datacenter) launch(claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if have := d.instances[d.byClaim[claim.UID]]; have != nil {
		return have.claim.DeepCopy(), nil
	}
	list := cloud.NewOfferingList(d.available(), d.rules)
	for chosen := range list.Candidates(claim) {
		if d.cluster.chance.happens("no capacity", func(f *Faults) float64 { return f.NoCapacity }) {
			key := offeringKey(chosen.Type, chosen.Offering)
			d.out[key] = time.Now().Add(outage)
			return nil, cloud.NewInsufficientCapacityError(fmt.Errorf("%s: %w", key, errInjected))
		}
		d.launched++
		out := claim.DeepCopy()
		out.Labels = cloud.LaunchLabels(claim, chosen, d.rules)
		maps.Copy(out.Labels, claim.Labels)
		out.Status.ProviderID = fmt.Sprintf("sim:///%s/i-%06d", chosen.Offering.Zone(), d.launched)
		out.Status.Capacity = chosen.Type.CapacityOf(chosen.Offering).DeepCopy()
		out.Status.Allocatable = chosen.Type.AllocatableOf(chosen.Offering)
		out.CreationTimestamp = metav1.NewTime(time.Now())
		d.instances[out.Status.ProviderID] = &instance{claim: out, owner: claim.UID, launched: time.Now(), image: d.image}
		d.byClaim[claim.UID] = out.Status.ProviderID
		time.AfterFunc(d.cluster.chance.between(10*time.Second, time.Minute), func() { d.join(out.Status.ProviderID) })
		return out.DeepCopy(), nil
	}
	if err := list.Refusal(claim); err != nil {
		return nil, cloud.NewInsufficientCapacityError(err)
	}
	return nil, cloud.NewInsufficientCapacityError(errInjected)
}

// nodeName is the name of an instance's Node.
func nodeName(providerID string) string {
	return "node-" + providerID[strings.LastIndexByte(providerID, '-')+1:]
}

// join creates the Node of an instance, as its kubelet does.
func (d *datacenter) join(id string) {
	d.mu.Lock()
	i := d.instances[id]
	gone := i == nil || i.ending
	d.mu.Unlock()
	if gone || d.cluster.ctx.Err() != nil {
		return
	}
	name := nodeName(id)
	labels := maps.Clone(i.claim.Labels)
	labels[corev1.LabelHostname] = name
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: id, Taints: append(slices.Clone(i.claim.Spec.StartupTaints), v1.UnregisteredNoExecuteTaint())},
		Status:     corev1.NodeStatus{Capacity: i.claim.Status.Capacity.DeepCopy(), Allocatable: i.claim.Status.Allocatable.DeepCopy()},
	}
	if err := d.cluster.client.Create(d.cluster.ctx, node); err != nil && !apierrors.IsAlreadyExists(err) && d.cluster.ctx.Err() == nil {
		panic(fmt.Sprintf("joining %s: %v", name, err))
	}
}

// Delete implements cloud.Provider.
func (a *account) Delete(ctx context.Context, claim *v1.NodeClaim) error {
	id := claim.Status.ProviderID
	return a.call(ctx, 200*time.Millisecond, 2*time.Second, func() error {
		a.cluster.leaders.acted(a.replica, operation{method: "terminate", resource: "instances", write: true})
		a.mu.Lock()
		defer a.mu.Unlock()
		i := a.instances[id]
		if i == nil {
			return cloud.NewNodeClaimNotFoundError(fmt.Errorf("instance %s", id))
		}
		if !i.ending {
			i.ending = true
			time.AfterFunc(a.cluster.chance.between(2*time.Second, 40*time.Second), func() { a.end(id) })
		}
		return nil
	})
}

func (d *datacenter) end(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.instances, id)
}

// die ends an instance without being asked, as hardware does. The cloud's controller of nodes deletes the Node once it is found to be gone.
func (d *datacenter) die(id string) {
	d.end(id)
	time.AfterFunc(d.cluster.chance.between(30*time.Second, time.Minute), func() {
		_ = d.cluster.client.Delete(d.cluster.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(id)}})
	})
}

// described is an instance as providers describe it.
func described(i *instance) *v1.NodeClaim {
	out := i.claim.DeepCopy()
	out.UID = i.owner
	if i.ending {
		now := metav1.NewTime(i.launched)
		out.DeletionTimestamp = &now
	}
	return out
}

// Get implements cloud.Provider.
func (a *account) Get(ctx context.Context, id string) (out *v1.NodeClaim, err error) {
	err = a.call(ctx, 50*time.Millisecond, 500*time.Millisecond, func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.instances[id] == nil {
			return cloud.NewNodeClaimNotFoundError(fmt.Errorf("instance %s", id))
		}
		out = described(a.instances[id])
		return nil
	})
	return out, err
}

// List implements cloud.Provider.
func (a *account) List(ctx context.Context) (out []*v1.NodeClaim, err error) {
	err = a.call(ctx, 100*time.Millisecond, time.Second, func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, id := range slices.Sorted(maps.Keys(a.instances)) {
			out = append(out, described(a.instances[id]))
		}
		return nil
	})
	return out, err
}

// InstanceTypes implements cloud.Provider. Providers answer from a cache: it is no call.
func (a *account) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.available(), nil
}

// IsDrifted implements cloud.Provider.
func (a *account) IsDrifted(_ context.Context, claim *v1.NodeClaim) (cloud.DriftReason, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := a.instances[claim.Status.ProviderID]; i != nil && i.image != a.image {
		return "ImageDrift", nil
	}
	return "", nil
}

// owners are the instances that exist and are not ending, by provider ID, with the UID of the NodeClaim of each. all has those that end, too.
func (d *datacenter) owners() (running map[string]types.UID, all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	running = map[string]types.UID{}
	for id, i := range d.instances {
		if !i.ending {
			running[id] = i.owner
		}
		all = append(all, id)
	}
	slices.Sort(all)
	return running, all
}

// total is how many instances there have been.
func (d *datacenter) total() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.launched
}
