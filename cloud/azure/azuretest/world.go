package azuretest

import (
	"cmp"
	"strings"

	"k8s.io/utils/clock"
)

// New returns an account with two resource groups: one for nodes and one for the cluster. The group for nodes has the virtual network
// aks-vnet-12345678 with the subnet aks-subnet.
func New(o Options) *Account {
	a := &Account{
		clock: o.Clock, location: cmp.Or(o.Location, "eastus"), takes: o.Takes, retryAfter: o.RetryAfter, pageSize: cmp.Or(o.PageSize, 50), routes: routes(),
		groups: []string{NodeResourceGroup, ClusterResourceGroup}, resources: map[string]*resource{}, operations: map[string]*operation{}, running: map[string]*operation{}, tokens: map[string]bool{},
	}
	if a.sizes = o.Sizes; a.sizes == nil {
		a.sizes = Sizes()
	}
	if a.clock == nil {
		a.clock = clock.RealClock{}
	}
	a.populate()
	return a
}

// populate creates the network of the cluster.
func (a *Account) populate() {
	a.set(SubnetID(), map[string]any{"properties": map[string]any{"addressPrefix": "10.224.0.0/16"}})
	network, _, _ := strings.Cut(SubnetID(), "/subnets/")
	a.set(network, map[string]any{"location": a.location, "properties": map[string]any{"resourceGuid": "00000000-0000-0000-0000-0000000000b1"}})
}

// SubnetID is the ID of the subnet that AKS made for nodes.
func SubnetID() string {
	return ID("Microsoft.Network/virtualNetworks", "aks-vnet-12345678") + "/subnets/aks-subnet"
}

// ID is the ID of a resource in the resource group for nodes, by its type and name.
func ID(kind, name string) string { return idIn(NodeResourceGroup, kind, name) }

// Put creates a resource, or replaces it, as if another client had done so. Name and type follow from the ID; body is what ARM
// shows without them.
func (a *Account) Put(id string, body map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	made := a.set(id, body)
	if strings.EqualFold(kindOf(id), kindVirtualMachine) {
		a.keepHidden(made)
	}
}

// Remove deletes a resource as if another client had done so, with all that is deleted with it.
func (a *Account) Remove(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(id)
}

// Exists reports whether there is a resource.
func (a *Account) Exists(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.evict()
	return a.get(id) != nil
}

// Body is what ARM shows of a resource; nil if there is none.
func (a *Account) Body(id string) map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.get(id)
	if found == nil {
		return nil
	}
	out, _ := copied(found.show()).(map[string]any)
	return out
}
