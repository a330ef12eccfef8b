package cluster

import (
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// devices are the published devices, the resource claims and, by device, the claims that use it. It is nil while dynamic
// resource allocation is ignored.
//
// Source: scheduling specification, allocated-device tracking.
type devices struct {
	resourceClaims map[string]*resourcev1.ResourceClaim // by namespace/name
	classes        map[string]*resourcev1.DeviceClass
	// shares are the allocated shares of each claim, by device; users are the claims with a share of a device.
	shares map[string]map[device.ID]device.Share
	users  map[device.ID]map[string]bool

	slices model.Editor[*device.Slice]
	claims model.Editor[*model.DeviceClaim]
	usages model.Editor[*device.Usage]
}

// TrackDevices adds devices to the cluster state. It has to be called before any event is applied.
func (s *Store) TrackDevices() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.devices = &devices{
		resourceClaims: map[string]*resourcev1.ResourceClaim{},
		classes:        map[string]*resourcev1.DeviceClass{},
		shares:         map[string]map[device.ID]device.Share{},
		users:          map[device.ID]map[string]bool{},
	}
	s.changed = true
}

// publish returns the current devices.
func (d *devices) publish() *model.Devices {
	if d == nil {
		return nil
	}
	return &model.Devices{Slices: d.slices.Publish(), Claims: d.claims.Publish(), Usages: d.usages.Publish()}
}

// changeDevices applies f to the devices, if they are tracked.
func (s *Store) changeDevices(f func(d *devices)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.devices == nil {
		return
	}
	f(s.devices)
	s.changed = true
}

// UpdateResourceSlice applies the current version of a ResourceSlice.
func (s *Store) UpdateResourceSlice(slice *resourcev1.ResourceSlice) {
	s.changeDevices(func(d *devices) { d.slices.Put(slice.Name, s.translator.Slice(slice)) })
}

// DeleteResourceSlice removes a ResourceSlice.
func (s *Store) DeleteResourceSlice(name string) {
	s.changeDevices(func(d *devices) { d.slices.Delete(name) })
}

// UpdateDeviceClass applies the current version of a DeviceClass, and translates the claims that refer to it again.
func (s *Store) UpdateDeviceClass(class *resourcev1.DeviceClass) { s.setClass(class.Name, class) }

// DeleteDeviceClass removes a DeviceClass.
func (s *Store) DeleteDeviceClass(name string) { s.setClass(name, nil) }

func (s *Store) setClass(name string, class *resourcev1.DeviceClass) {
	s.changeDevices(func(d *devices) {
		if class == nil {
			delete(d.classes, name)
		} else {
			d.classes[name] = class
		}
		for id, claim := range d.resourceClaims {
			if asksFor(claim, name) {
				d.claims.Put(id, s.translator.DeviceClaim(claim, d.class))
			}
		}
	})
}

// asksFor reports whether the claim requests devices of a class.
func asksFor(claim *resourcev1.ResourceClaim, class string) bool {
	return slices.ContainsFunc(claim.Spec.Devices.Requests, func(r resourcev1.DeviceRequest) bool {
		return r.Exactly != nil && r.Exactly.DeviceClassName == class ||
			slices.ContainsFunc(r.FirstAvailable, func(sub resourcev1.DeviceSubRequest) bool { return sub.DeviceClassName == class })
	})
}

func (d *devices) class(name string) *resourcev1.DeviceClass { return d.classes[name] }

// UpdateResourceClaim applies the current version of a ResourceClaim.
func (s *Store) UpdateResourceClaim(claim *resourcev1.ResourceClaim) {
	s.changeDevices(func(d *devices) {
		id := claim.Namespace + "/" + claim.Name
		d.resourceClaims[id] = claim
		d.claims.Put(id, s.translator.DeviceClaim(claim, d.class))
		d.setShares(id, translate.DeviceShares(claim))
	})
}

// DeleteResourceClaim removes a ResourceClaim.
func (s *Store) DeleteResourceClaim(namespace, name string) {
	s.changeDevices(func(d *devices) {
		id := namespace + "/" + name
		delete(d.resourceClaims, id)
		d.claims.Delete(id)
		d.setShares(id, nil)
	})
}

// setShares sets the shares of a claim, and publishes the usage of the devices that it had or has.
func (d *devices) setShares(claim string, shares map[device.ID]device.Share) {
	touched := slices.AppendSeq(slices.Collect(maps.Keys(d.shares[claim])), maps.Keys(shares))
	for id := range d.shares[claim] {
		delete(d.users[id], claim)
	}
	delete(d.shares, claim)
	if len(shares) > 0 {
		d.shares[claim] = shares
	}
	for id := range shares {
		if d.users[id] == nil {
			d.users[id] = map[string]bool{}
		}
		d.users[id][claim] = true
	}
	for _, id := range touched {
		d.publishUsage(id)
	}
}

// publishUsage publishes the shares of a device.
func (d *devices) publishUsage(id device.ID) {
	if len(d.users[id]) == 0 {
		delete(d.users, id)
		d.usages.Delete(id.String())
		return
	}
	usage := &device.Usage{Device: id}
	for claim := range d.users[id] {
		usage.Shares = append(usage.Shares, d.shares[claim][id])
	}
	slices.SortFunc(usage.Shares, func(a, b device.Share) int { return strings.Compare(a.Claim, b.Claim) })
	d.usages.Put(id.String(), usage)
}

// deviceKinds are the kinds of dynamic resource allocation.
func (s *Store) deviceKinds() []kind {
	return []kind{
		{&resourcev1.DeviceClass{}, apply(s.UpdateDeviceClass), forget(func(c *resourcev1.DeviceClass) { s.DeleteDeviceClass(c.Name) })},
		{&resourcev1.ResourceSlice{}, apply(s.UpdateResourceSlice), forget(func(r *resourcev1.ResourceSlice) { s.DeleteResourceSlice(r.Name) })},
		{&resourcev1.ResourceClaim{}, apply(s.UpdateResourceClaim), forget(func(c *resourcev1.ResourceClaim) { s.DeleteResourceClaim(c.Namespace, c.Name) })},
	}
}
