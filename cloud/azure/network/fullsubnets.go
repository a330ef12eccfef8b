package network

import (
	"maps"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/subnet"
)

// How long nodes are not launched in a subnet that is full: twice as long each time a launch finds it full again.
const (
	minFull = 5 * time.Minute
	maxFull = 40 * time.Minute
)

// maxChanges is how many classes wait to be looked at again. Others are looked at a few minutes later.
const maxChanges = 100

// FullSubnets knows the subnets in which launches found too few free addresses for a node, and until when no other launch is worth a request.
// It is safe for concurrent use. A new process knows none: its first launch finds out.
type FullSubnets struct {
	// Changed has a class when its subnet is full, or is not any more.
	Changed chan event.GenericEvent

	clock   clock.PassiveClock
	plugin  instancetype.Network
	cluster string

	mu   sync.Mutex
	full map[string]*fullSubnet
}

// fullSubnet is what launches showed of a subnet.
type fullSubnet struct {
	// addresses are the fewest that a launch did not get.
	addresses int
	// since and until are the time for which no launch is tried, waits how long that is.
	since, until time.Time
	waits        time.Duration
	// free are the fewest addresses that Azure has counted as free since then; subnet.UnknownFree before it has.
	free int
}

// NewFullSubnets returns what is known at the start: nothing. The id is the ARM id of the subnet of nodes whose class names none.
func NewFullSubnets(c clock.PassiveClock, plugin instancetype.Network, id string) *FullSubnets {
	return &FullSubnets{Changed: make(chan event.GenericEvent, maxChanges), clock: c, plugin: plugin, cluster: id, full: map[string]*fullSubnet{}}
}

// Addresses is how many addresses of its subnet a node takes: one, and without an overlay one for each further pod that it may have.
func Addresses(class *v1beta1.AKSNodeClass, plugin instancetype.Network) int {
	if plugin.Plugin == instancetype.PluginAzure && plugin.Mode != instancetype.ModeOverlay {
		return int(max(instancetype.ClassOf(class, plugin).MaxPods, 1))
	}
	return 1
}

// Failed says that a launch from a class got no addresses. Launches that fail while the subnet is known to be full change nothing.
func (f *FullSubnets) Failed(class *v1beta1.AKSNodeClass) {
	addresses, now, key := Addresses(class, f.plugin), f.clock.Now(), f.key(class)
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.full[key]
	switch {
	case s == nil || now.Sub(s.until) > maxFull:
		maps.DeleteFunc(f.full, func(_ string, old *fullSubnet) bool { return now.Sub(old.until) > maxFull }) // their classes may be gone
		s = &fullSubnet{waits: minFull}
		f.full[key] = s
	case now.Before(s.until):
		s.addresses = min(s.addresses, addresses)
		f.changed(class)
		return
	default:
		s.waits = min(2*s.waits, maxFull)
	}
	s.addresses, s.since, s.until, s.free = addresses, now, now.Add(s.waits), subnet.UnknownFree
	f.changed(class)
}

// Launched says that a launch from a class, which began at a time, got its addresses.
func (f *FullSubnets) Launched(class *v1beta1.AKSNodeClass, began time.Time) {
	addresses, key := Addresses(class, f.plugin), f.key(class)
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.full[key]; s != nil && began.After(s.since) && addresses >= s.addresses {
		delete(f.full, key)
		f.changed(class)
	}
}

// Check reports whether the subnet of a class is full, how many addresses a node takes, and until when no node is launched. Azure counts so many
// addresses as free, or subnet.UnknownFree: if these become more, and enough for a node, the subnet is not full any more. The number itself is not
// enough, since Azure may keep addresses that it does not count.
func (f *FullSubnets) Check(class *v1beta1.AKSNodeClass, free int) (addresses int, until time.Time, full bool) {
	addresses = Addresses(class, f.plugin)
	now, key := f.clock.Now(), f.key(class)
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.full[key]
	switch {
	case s == nil || addresses < s.addresses || !now.Before(s.until):
		return addresses, time.Time{}, false
	case free == subnet.UnknownFree:
	case s.free == subnet.UnknownFree || free < s.free:
		s.free = free
	case free > s.free && free >= addresses:
		s.until = now
		return addresses, time.Time{}, false
	}
	return addresses, s.until, true
}

// changed has a class looked at again. It never waits.
func (f *FullSubnets) changed(class *v1beta1.AKSNodeClass) {
	select {
	case f.Changed <- event.GenericEvent{Object: class}:
	default:
	}
}

func (f *FullSubnets) key(class *v1beta1.AKSNodeClass) string {
	return strings.ToLower(SubnetID(class, f.cluster))
}
