// Package device allocates devices to resource claims: which devices of a cluster, or of a machine that is still to be
// launched, satisfy what pods ask for, and what that says about where the machine has to be.
//
// It knows slices, pools, claims and what is taken, and nothing of pods, nodes or prices: whoever places pods describes a
// candidate by its labels and the kinds of machine it may become.
//
// Source: scheduling specification, dynamic resource allocation.
package device

import (
	"cmp"
	"strings"
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
	// Capacity is what the device has, sorted by name.
	Capacity []Capacity
	// Shared devices may be allocated to several claims, or several times to one, as long as their capacity lasts.
	Shared bool
	// ConsumesCounters is what the device takes of its pool's counters while it is allocated, without repetition.
	ConsumesCounters []CounterConsumption
	// Origin is what selectors look at. The allocator does not.
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

// CounterConsumption takes an amount, in thousandths, from a counter of a counter set.
type CounterConsumption struct {
	Set, Counter string
	Amount       int64
}

// CounterSet is a named group of counters, in thousandths, that the devices of a pool draw from.
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
