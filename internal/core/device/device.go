// Package device allocates devices to resource claims: which devices of the cluster, or of a planned node, satisfy the claims of
// pods, and which requirements that adds to the node.
//
// It knows resource slices, pools, claims and allocated devices, and nothing of pods, nodes or prices: the caller describes a
// candidate node by its requirements and the device templates of its instance types.
//
// Source: scheduling specification, dynamic resource allocation.
package device

import (
	"cmp"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// ID names a device in the cluster.
type ID struct{ Driver, Pool, Name string }

// String renders driver/pool/device.
func (id ID) String() string { return id.Driver + "/" + id.Pool + "/" + id.Name }

// Compare orders devices by driver, pool and name.
func (id ID) Compare(o ID) int {
	return cmp.Or(strings.Compare(id.Driver, o.Driver), strings.Compare(id.Pool, o.Pool), strings.Compare(id.Name, o.Name))
}

// Device is one device as a driver describes it. It is never changed once built.
type Device struct {
	// Name is unique in a pool.
	Name string
	// Attributes by name, with the driver's domain or without. A plain attribute has one value, a list has several.
	Attributes map[string][]Value
	// Capacity is the device's consumable capacity, sorted by name.
	Capacity []Capacity
	// Shared devices may be allocated to several claims, or several times to one, as long as their capacity lasts.
	Shared bool
	// ConsumesCounters is what the device consumes of its pool's counters while it is allocated, without duplicates.
	ConsumesCounters []CounterConsumption
	// Taints keep claims away.
	Taints []Taint
	// Places are the alternatives of where the device can be used, none for nowhere, if its slice selects nodes per device.
	Places []requirement.Set
	// BindsToNode devices can only be used on the node that they were allocated for, wherever they could be allocated.
	BindsToNode bool
	// Conditional devices are allocated before they are ready: kube-scheduler tries pools with such devices last.
	Conditional bool
	// Origin is the API object that selectors evaluate. The allocator does not use it.
	Origin any
}

// Value is an attribute's value. Values of different types are never equal.
type Value struct {
	Type ValueType
	Text string
}

// ValueType is the type of a Value.
type ValueType byte

// The types of attributes.
const (
	Text ValueType = iota
	Integer
	Boolean
	Version
)

// CounterConsumption is an amount, in thousandths, of a counter of a counter set.
type CounterConsumption struct {
	Set, Counter string
	Amount       int64
}

// CounterSet is a named group of counters, in thousandths, that the devices of a pool consume.
type CounterSet struct {
	Name     string
	Counters map[string]int64
}

// values finds an attribute by its full name, or by its bare name if the domain is the driver's.
func (d *Device) values(driver, attribute string) []Value {
	if v, ok := d.Attributes[attribute]; ok {
		return v
	}
	if domain, bare, ok := strings.Cut(attribute, "/"); ok && domain == driver {
		return d.Attributes[bare]
	}
	return nil
}
