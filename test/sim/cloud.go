package sim

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
)

// outage is how long an offering that ran out stays so.
const outage = 3 * time.Minute

// Datacenter is the cloud: instances, and offerings that run out. It outlives processes.
type Datacenter struct {
	world  *World
	api    *API
	faults *Faults
	types  []*cloud.InstanceType
	rules  v1.LabelRules
	// How long an instance boots before its Node joins, and how long it takes to end.
	minBoot, maxBoot, minEnd, maxEnd time.Duration

	// ending is called when the termination of an instance is asked for, rebooting when its reboot is.
	ending    func(id string)
	rebooting func(instance *Instance, asked *v1.NodeClaim)

	mu        sync.Mutex
	instances map[string]*Instance
	// ended are instances that have ended and that lists may still show.
	ended    map[string]*Instance
	byClaim  map[types.UID]string
	out      map[string]time.Time
	launched int
	// attempts are the calls that asked for a launch, by NodeClaim.
	attempts map[types.UID]attempt
	// image counts the images that there have been.
	image int
	// forgetful, unattended and lateLabels are Forgetful, NoNodeController and LateLabels of the scene.
	forgetful, unattended, lateLabels bool
	// failing is the NodePool that has no capacity; empty for none.
	failing string
}

// Instance is what a launch made.
type Instance struct {
	// Claim describes it, as providers do.
	Claim *v1.NodeClaim
	// Owner is the UID of the NodeClaim that it was launched for.
	Owner types.UID
	// Ending is set once its termination was asked for.
	Ending bool
	// Launched is when.
	Launched time.Time
	// Image is the image that it was launched with.
	Image int

	// operation is that of the last reboot, requested when it was asked for, and boots counts them.
	operation string
	requested time.Time
	boots     int
	// listedFrom and listedUntil are when lists show it.
	listedFrom, listedUntil time.Time
}

// attempt is what a process has tried for a NodeClaim.
type attempt struct {
	// last is when the last call began or was answered; refused counts the answers that there is no capacity.
	last    time.Time
	refused int
}

// Instances returns the instances that exist, by provider ID.
func (d *Datacenter) Instances() map[string]*Instance {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.instances)
}

// Launched is how many instances there have been.
func (d *Datacenter) Launched() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.launched
}

// datacenterClient is the cloud as a process calls it.
type datacenterClient struct {
	*Datacenter

	process *Process
}

var _ cloud.Provider = (*datacenterClient)(nil)

func newDatacenter(w *World, api *API, faults *Faults, catalog []*cloud.InstanceType, rules v1.LabelRules) *Datacenter {
	d := &Datacenter{
		world: w, api: api, faults: faults, types: catalog, rules: rules,
		minBoot: 10 * time.Second, maxBoot: time.Minute, minEnd: 2 * time.Second, maxEnd: 40 * time.Second,
		instances: map[string]*Instance{}, ended: map[string]*Instance{}, byClaim: map[types.UID]string{}, out: map[string]time.Time{}, attempts: map[types.UID]attempt{},
	}
	if faults.Boot > 0 {
		d.minBoot, d.maxBoot = faults.Boot, faults.Boot
	}
	return d
}

// call makes a call of the cloud: request, effect, answer.
func (d *datacenterClient) call(name string, least, most time.Duration, f func() error) error {
	if !d.process.alive() {
		return errCrashed
	}
	write := strings.HasPrefix(name, "launch ") || strings.HasPrefix(name, "terminate ") || strings.HasPrefix(name, "reboot ")
	if r := d.process.replica; r != nil && write {
		if err := r.refuse(name); err != nil {
			return err
		}
	}
	d.world.pause("cloud "+name, "cloud", least/2, most/2)
	if !d.process.alive() {
		return errCrashed
	}
	if d.faults.happens(d.world, "cloud error", d.faults.CloudError) {
		return fmt.Errorf("throttled: %w", errInjected)
	}
	err := f()
	d.process.pause("cloud "+name+" answered", "cloud", least/2, most/2)
	if !d.process.alive() {
		return errCrashed
	}
	return err
}

func offeringKey(t *cloud.InstanceType, o *cloud.Offering) string {
	return t.Name + "/" + o.Zone() + "/" + o.CapacityType()
}

// available are the instance types now. It wants the lock.
func (d *Datacenter) available() []*cloud.InstanceType {
	now := time.Now()
	maps.DeleteFunc(d.out, func(_ string, until time.Time) bool { return !now.Before(until) })
	if len(d.out) == 0 {
		return d.types
	}
	out := make([]*cloud.InstanceType, len(d.types))
	for i, t := range d.types {
		out[i] = t
		var changed *cloud.InstanceType
		for j := range t.Offerings {
			if _, ran := d.out[offeringKey(t, &t.Offerings[j])]; !ran {
				continue
			}
			if changed == nil {
				shallow := *t
				shallow.Offerings = slices.Clone(t.Offerings)
				changed = &shallow
			}
			changed.Offerings[j].Available = false
		}
		if changed != nil {
			out[i] = changed
		}
	}
	return out
}

// Create implements cloud.Provider.
func (d *datacenterClient) Create(_ context.Context, claim *v1.NodeClaim) (out *v1.NodeClaim, err error) {
	d.attempted(claim.UID, nil)
	err = d.call("launch "+claim.Name, time.Second, 4*time.Second, func() error {
		out, err = d.launch(claim)
		return err
	})
	if d.process.alive() {
		d.attempted(claim.UID, err)
	}
	if err == nil && d.faults.happens(d.world, "lost launch", d.faults.LostLaunch) {
		return nil, fmt.Errorf("launching: %w", errInjected)
	}
	return out, err
}

// attempted records that a launch was asked for, or how it was answered.
func (d *Datacenter) attempted(uid types.UID, answer error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.attempts[uid]
	a.last = time.Now()
	if cloud.IsInsufficientCapacity(answer) {
		a.refused++
	}
	d.attempts[uid] = a
}

func (d *Datacenter) launch(claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if id := d.byClaim[claim.UID]; id != "" && !d.forgetful {
		if have := d.instances[id]; have != nil {
			return have.Claim.DeepCopy(), nil
		}
	}
	if d.failing != "" && claim.Labels[v1.NodePoolLabelKey] == d.failing && !d.faults.Off {
		return nil, cloud.NewInsufficientCapacityError(errInjected)
	}
	list := cloud.NewOfferingList(d.available(), d.rules)
	for chosen := range list.Candidates(claim) {
		if d.faults.happens(d.world, "no capacity", d.faults.NoCapacity) {
			d.out[offeringKey(chosen.Type, chosen.Offering)] = time.Now().Add(outage)
			return nil, cloud.NewInsufficientCapacityError(fmt.Errorf("%s: %w", offeringKey(chosen.Type, chosen.Offering), errInjected))
		}
		d.launched++
		out := claim.DeepCopy()
		out.Labels = cloud.LaunchLabels(claim, chosen, d.rules)
		maps.Copy(out.Labels, claim.Labels)
		out.Status.ProviderID = fmt.Sprintf("sim:///%s/i-%06d", chosen.Offering.Zone(), d.launched)
		out.Status.Capacity = chosen.Type.CapacityOf(chosen.Offering).DeepCopy()
		out.Status.Allocatable = chosen.Type.AllocatableOf(chosen.Offering)
		out.CreationTimestamp = metav1.NewTime(time.Now())
		d.instances[out.Status.ProviderID] = &Instance{Claim: out, Owner: claim.UID, Launched: time.Now(), Image: d.image, listedFrom: d.late()}
		d.byClaim[claim.UID] = out.Status.ProviderID
		if d.faults.happens(d.world, "no boot", d.faults.NoBoot) {
			return out.DeepCopy(), nil
		}
		d.world.soon("boot "+out.Status.ProviderID, "boot", d.minBoot, d.maxBoot, func() { d.join(out.Status.ProviderID) })
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
func (d *Datacenter) join(id string) {
	d.mu.Lock()
	instance := d.instances[id]
	d.mu.Unlock()
	if instance == nil || instance.Ending {
		return
	}
	name := nodeName(id)
	labels := maps.Clone(instance.Claim.Labels)
	if d.lateLabels {
		labels = map[string]string{}
		d.world.soon("labels of "+name, "labels", 0, 30*time.Second, func() { d.label(name, instance.Claim.Labels) })
	}
	labels[corev1.LabelHostname] = name
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.NodeSpec{
			ProviderID: id, Taints: append(slices.Clone(instance.Claim.Spec.StartupTaints), v1.UnregisteredNoExecuteTaint()),
		},
		Status: corev1.NodeStatus{Capacity: instance.Claim.Status.Capacity.DeepCopy(), Allocatable: instance.Claim.Status.Allocatable.DeepCopy()},
	}
	node.Status.NodeInfo.BootID = instance.bootID(id)
	if err := d.api.Create(node); err != nil && !apierrors.IsAlreadyExists(err) {
		panic(fmt.Sprintf("joining %s: %v", name, err))
	}
}

// Delete implements cloud.Provider.
func (d *datacenterClient) Delete(_ context.Context, claim *v1.NodeClaim) error {
	id := claim.Status.ProviderID
	return d.call("terminate "+id, 200*time.Millisecond, 2*time.Second, func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		instance := d.instances[id]
		if instance == nil {
			return cloud.NewNodeClaimNotFoundError(fmt.Errorf("instance %s", id))
		}
		if !instance.Ending {
			instance.Ending = true
			d.ending(id)
			d.world.soon("end of "+id, "end", d.minEnd, d.maxEnd, func() { d.end(id) })
		}
		return nil
	})
}

// end ends an instance. Its Node stays: its finalizer, or the cloud's controller of nodes, decides about that.
func (d *Datacenter) end(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.instances[id]; i != nil {
		i.listedUntil = d.late()
		d.ended[id] = i
	}
	delete(d.instances, id)
}

// late is when a list shows what happens now.
func (d *Datacenter) late() time.Time {
	if d.faults.Off {
		return time.Now()
	}
	return time.Now().Add(d.world.between("list lag", 0, d.faults.MaxListLag))
}

// Die ends an instance without being asked, as hardware does.
func (d *Datacenter) Die(id string) {
	d.end(id)
	// The cloud's controller of nodes deletes the Node once it is found to be gone.
	d.world.soon("node of dead "+id, "end", 30*time.Second, time.Minute, func() {
		if d.unattended {
			d.silence(nodeName(id), false)
			return
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(id)}}
		_ = d.api.Delete(node, metav1.DeleteOptions{})
	})
}

// Get implements cloud.Provider.
func (d *datacenterClient) Get(_ context.Context, id string) (out *v1.NodeClaim, err error) {
	err = d.call("get "+id, 50*time.Millisecond, 500*time.Millisecond, func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.instances[id] == nil {
			return cloud.NewNodeClaimNotFoundError(fmt.Errorf("instance %s", id))
		}
		out = described(d.instances[id])
		return nil
	})
	return out, err
}

func described(i *Instance) *v1.NodeClaim {
	out := i.Claim.DeepCopy()
	out.UID = i.Owner
	out.CreationTimestamp = metav1.NewTime(i.Launched)
	if i.Ending {
		now := metav1.NewTime(i.Launched)
		out.DeletionTimestamp = &now
	}
	return out
}

// List implements cloud.Provider.
func (d *datacenterClient) List(context.Context) (out []*v1.NodeClaim, err error) {
	err = d.call("list", 100*time.Millisecond, time.Second, func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, id := range slices.Sorted(maps.Keys(d.instances)) {
			if i := d.instances[id]; !time.Now().Before(i.listedFrom) {
				out = append(out, described(i))
			}
		}
		for _, id := range slices.Sorted(maps.Keys(d.ended)) {
			if i := d.ended[id]; time.Now().Before(i.listedUntil) {
				out = append(out, described(i))
			} else {
				delete(d.ended, id)
			}
		}
		return nil
	})
	return out, err
}

// InstanceTypes implements cloud.Provider. Providers answer from a cache: it is no call.
func (d *datacenterClient) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.available()), nil
}

// IsDrifted implements cloud.Provider.
func (d *datacenterClient) IsDrifted(_ context.Context, claim *v1.NodeClaim) (cloud.DriftReason, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.instances[claim.Status.ProviderID]; i != nil && i.Image != d.image {
		return "ImageDrift", nil
	}
	return "", nil
}
