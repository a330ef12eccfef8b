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

// Devices is the part of a Store for dynamic resource allocation: the published devices, the resource claims and, by device, the
// claims that use it. Without Track it ignores all events.
//
// Source: scheduling specification, allocated-device tracking.
type Devices struct {
	store   *Store
	tracked bool

	resourceClaims map[string]*resourcev1.ResourceClaim // by namespace/name
	classes        map[string]*resourcev1.DeviceClass
	// shares are the allocated shares of each claim, by device; users are the claims with a share of a device.
	shares map[string]map[device.ID]device.Share
	users  map[device.ID]map[string]bool

	slices model.Editor[*device.Slice]
	claims model.Editor[*model.DeviceClaim]
	usages model.Editor[*device.Usage]
	rules  model.Editor[*device.TaintRule]

	// taintRules is set when DeviceTaintRules are watched, extendedResources when device classes serve extended resources.
	taintRules, extendedResources bool
	extended                      map[string]model.ExtendedClass
}

// Track adds devices to the cluster state. It has to be called before any event is applied.
func (d *Devices) Track() {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	*d = Devices{
		store:          d.store,
		tracked:        true,
		resourceClaims: map[string]*resourcev1.ResourceClaim{},
		classes:        map[string]*resourcev1.DeviceClass{},
		shares:         map[string]map[device.ID]device.Share{},
		users:          map[device.ID]map[string]bool{},
	}
	d.store.changed = true
}

// publish returns the current devices.
func (d *Devices) publish() *model.Devices {
	if !d.tracked {
		return nil
	}
	return &model.Devices{Slices: d.slices.Publish(), Claims: d.claims.Publish(), Usages: d.usages.Publish(), TaintRules: d.rules.Publish(), Extended: d.extended}
}

// change applies f to the devices, if they are tracked.
func (d *Devices) change(f func()) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	if !d.tracked {
		return
	}
	f()
	d.store.changed = true
}

// UpdateResourceSlice applies the current version of a ResourceSlice.
func (d *Devices) UpdateResourceSlice(slice *resourcev1.ResourceSlice) {
	d.change(func() { d.slices.Put(slice.Name, d.store.translator.Slice(slice)) })
}

// DeleteResourceSlice removes a ResourceSlice.
func (d *Devices) DeleteResourceSlice(name string) {
	d.change(func() { d.slices.Delete(name) })
}

// UpdateDeviceClass applies the current version of a DeviceClass, and translates the claims that refer to it again.
func (d *Devices) UpdateDeviceClass(class *resourcev1.DeviceClass) { d.setClass(class.Name, class) }

// DeleteDeviceClass removes a DeviceClass.
func (d *Devices) DeleteDeviceClass(name string) { d.setClass(name, nil) }

func (d *Devices) setClass(name string, class *resourcev1.DeviceClass) {
	d.change(func() {
		if class == nil {
			delete(d.classes, name)
		} else {
			d.classes[name] = class
		}
		for id, claim := range d.resourceClaims {
			if asksFor(claim, name) {
				d.claims.Put(id, d.store.translator.DeviceClaim(claim, d.class))
			}
		}
		if d.extendedResources {
			d.extended = d.store.translator.ExtendedClasses(d.classes)
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

func (d *Devices) class(name string) *resourcev1.DeviceClass { return d.classes[name] }

// UpdateResourceClaim applies the current version of a ResourceClaim.
func (d *Devices) UpdateResourceClaim(claim *resourcev1.ResourceClaim) {
	d.change(func() {
		id := claim.Namespace + "/" + claim.Name
		d.resourceClaims[id] = claim
		d.claims.Put(id, d.store.translator.DeviceClaim(claim, d.class))
		d.setShares(id, translate.DeviceShares(claim))
	})
}

// DeleteResourceClaim removes a ResourceClaim.
func (d *Devices) DeleteResourceClaim(namespace, name string) {
	d.change(func() {
		id := namespace + "/" + name
		delete(d.resourceClaims, id)
		d.claims.Delete(id)
		d.setShares(id, nil)
	})
}

// setShares sets the shares of a claim, and publishes the usage of the devices that it had or has.
func (d *Devices) setShares(claim string, shares map[device.ID]device.Share) {
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
func (d *Devices) publishUsage(id device.ID) {
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

// TrackExtendedResources makes device classes serve extended resources. Call it before the first event.
func (d *Devices) TrackExtendedResources() { d.extendedResources = true }

// TrackTaintRules watches DeviceTaintRules as well. Call it before the first event.
func (d *Devices) TrackTaintRules() { d.taintRules = true }

// UpdateTaintRule applies the current version of a DeviceTaintRule.
func (d *Devices) UpdateTaintRule(rule *resourcev1.DeviceTaintRule) {
	d.change(func() {
		if translated := translate.DeviceTaintRule(rule); translated != nil {
			d.rules.Put(rule.Name, translated)
		} else {
			d.rules.Delete(rule.Name)
		}
	})
}

// DeleteTaintRule removes a DeviceTaintRule.
func (d *Devices) DeleteTaintRule(name string) {
	d.change(func() { d.rules.Delete(name) })
}

// kinds are the kinds of dynamic resource allocation.
func (d *Devices) kinds() []kind {
	kinds := []kind{
		{&resourcev1.DeviceClass{}, apply(d.UpdateDeviceClass), forget(func(c *resourcev1.DeviceClass) { d.DeleteDeviceClass(c.Name) })},
		{&resourcev1.ResourceSlice{}, apply(d.UpdateResourceSlice), forget(func(r *resourcev1.ResourceSlice) { d.DeleteResourceSlice(r.Name) })},
		{&resourcev1.ResourceClaim{}, apply(d.UpdateResourceClaim), forget(func(c *resourcev1.ResourceClaim) { d.DeleteResourceClaim(c.Namespace, c.Name) })},
	}
	if d.taintRules {
		kinds = append(kinds, kind{&resourcev1.DeviceTaintRule{}, apply(d.UpdateTaintRule), forget(func(r *resourcev1.DeviceTaintRule) { d.DeleteTaintRule(r.Name) })})
	}
	return kinds
}
