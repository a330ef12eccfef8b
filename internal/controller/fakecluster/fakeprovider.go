package fakecluster

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Provider is a cloud provider in memory: launches are idempotent, terminations take until the test finishes them, and the test sets
// errors and results. Its zero value has no instances.
type Provider struct {
	CreateErr, DeleteErr, GetErr, ListErr, TypesErr, DriftErr, RebootErr error
	Drift                                                                cloud.DriftReason
	Types                                                                []*cloud.InstanceType
	// OnReboot is called when a reboot is accepted; it may change the cluster.
	OnReboot func(*v1.NodeClaim)
	// OnCreate may change the result of a launch.
	OnCreate func(*v1.NodeClaim)

	clock     clock.Clock
	mu        sync.Mutex
	calls     map[string]int
	instances map[string]*v1.NodeClaim
	launched  map[types.UID]string
	reboots   []string
}

// Calls returns the number of calls of a method.
func (p *Provider) Calls(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[method]
}

func (p *Provider) called(method string) {
	if p.calls == nil {
		p.calls, p.instances, p.launched = map[string]int{}, map[string]*v1.NodeClaim{}, map[types.UID]string{}
	}
	p.calls[method]++
}

// Put adds instances.
func (p *Provider) Put(instances ...*v1.NodeClaim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called("Put")
	for _, instance := range instances {
		p.instances[instance.Status.ProviderID] = instance.DeepCopy()
	}
}

// Finish removes an instance.
func (p *Provider) Finish(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called("Finish")
	delete(p.instances, id)
}

// Has reports whether an instance exists and is not terminating.
func (p *Provider) Has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	instance, ok := p.instances[id]
	return ok && instance.DeletionTimestamp == nil
}

// Create implements cloud.Provider.
func (p *Provider) Create(_ context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called("Create")
	if p.CreateErr != nil {
		return nil, p.CreateErr
	}
	if id, ok := p.launched[claim.UID]; ok {
		return p.instances[id].DeepCopy(), nil
	}
	instance := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: claim.Name, CreationTimestamp: metav1.NewTime(p.clock.Now()),
		Labels: map[string]string{
			corev1.LabelInstanceTypeStable: "small", corev1.LabelTopologyZone: "zone-1", v1.CapacityTypeLabelKey: "spot",
		},
		Annotations: map[string]string{"provider": "yes"},
	}}
	instance.Status.ProviderID = "test://" + claim.Name
	instance.Status.ImageID = "image-1"
	instance.Status.Capacity = Resources("cpu", "2", "memory", "4Gi")
	instance.Status.Allocatable = Resources("cpu", "1900m", "memory", "3Gi")
	if p.OnCreate != nil {
		p.OnCreate(instance)
	}
	p.launched[claim.UID] = instance.Status.ProviderID
	p.instances[instance.Status.ProviderID] = instance
	return instance.DeepCopy(), nil
}

// Delete implements cloud.Provider.
func (p *Provider) Delete(_ context.Context, claim *v1.NodeClaim) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called("Delete")
	instance, ok := p.instances[claim.Status.ProviderID]
	switch {
	case p.DeleteErr != nil:
		return p.DeleteErr
	case !ok:
		return cloud.NewNodeClaimNotFoundError(fmt.Errorf("no instance %q", claim.Status.ProviderID))
	}
	instance.DeletionTimestamp = &metav1.Time{Time: p.clock.Now()}
	return nil
}

// Get implements cloud.Provider.
func (p *Provider) Get(_ context.Context, id string) (*v1.NodeClaim, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called("Get")
	instance, ok := p.instances[id]
	switch {
	case p.GetErr != nil:
		return nil, p.GetErr
	case !ok:
		return nil, cloud.NewNodeClaimNotFoundError(fmt.Errorf("no instance %q", id))
	}
	return instance.DeepCopy(), nil
}

// List implements cloud.Provider.
func (p *Provider) List(context.Context) ([]*v1.NodeClaim, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called("List")
	var out []*v1.NodeClaim
	for _, instance := range p.instances {
		out = append(out, instance.DeepCopy())
	}
	return out, p.ListErr
}

// InstanceTypes implements cloud.Provider.
func (p *Provider) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called("InstanceTypes")
	return p.Types, p.TypesErr
}

// IsDrifted implements cloud.Provider.
func (p *Provider) IsDrifted(context.Context, *v1.NodeClaim) (cloud.DriftReason, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called("IsDrifted")
	return p.Drift, p.DriftErr
}

// Reboot implements cloud.Rebooter.
func (p *Provider) Reboot(_ context.Context, claim *v1.NodeClaim, operationID string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called("Reboot")
	p.reboots = append(p.reboots, operationID)
	if p.RebootErr == nil && p.OnReboot != nil {
		p.OnReboot(claim)
	}
	return p.RebootErr
}

// Reboots returns the operation IDs of all calls of Reboot.
func (p *Provider) Reboots() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.reboots)
}

// Resources builds a list from names and quantities in turn.
func Resources(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}
