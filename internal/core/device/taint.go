package device

// Taint keeps claims that do not tolerate it away from a device. Taints without such an effect are left out.
type Taint struct {
	Key, Value string
	// Effect is NoSchedule, or NoExecute, which evicts pods as well.
	Effect string
}

// NoExecute is the effect of taints that evict pods.
const NoExecute = "NoExecute"

// Tolerations are those of a request.
type Tolerations interface{ Tolerates(t Taint) bool }

// TaintRule adds a taint to all devices that it selects. It is never changed once built.
type TaintRule struct {
	// Driver, Pool and Device select devices by name; nil is any name.
	Driver, Pool, Device *string
	Taint                Taint
}

// selects reports whether the rule is for a device. The name of the pool that a driver will publish for a planned node is not known, so that
// rules with a pool select none of its devices.
func (r *TaintRule) selects(id ID, planned bool) bool {
	return (r.Driver == nil || *r.Driver == id.Driver) && (r.Pool == nil || !planned && *r.Pool == id.Pool) && (r.Device == nil || *r.Device == id.Name)
}

// tolerated reports whether all taints of a device are tolerated.
func (l *Allocations) tolerated(e *entry, wanted *Selection) bool {
	for _, taints := range [...][]Taint{e.Taints, l.ruleTaints(e)} {
		for _, t := range taints {
			if wanted.Tolerations == nil || !wanted.Tolerations.Tolerates(t) {
				return false
			}
		}
	}
	return true
}

// ruleTaints returns the taints that rules add to a device.
func (l *Allocations) ruleTaints(e *entry) []Taint {
	if len(l.inventory.rules) == 0 {
		return nil
	}
	if known, ok := l.taints[e]; ok {
		return known
	}
	var out []Taint
	for _, r := range l.inventory.rules {
		if r.selects(e.id, e.template) {
			out = append(out, r.Taint)
		}
	}
	l.taints[e] = out
	return out
}

// Evictions tells which allocations have devices with taints that evict the pods. Source: KEP-5055.
type Evictions struct {
	taints map[ID][]Taint
	rules  []*TaintRule
}

// NewEvictions returns the evictions by the taints of published devices and by rules, both in any order.
func NewEvictions(published []*Slice, rules []*TaintRule) Evictions {
	newest := map[[2]string]int64{}
	for _, s := range published {
		pool := [2]string{s.Driver, s.Pool}
		newest[pool] = max(newest[pool], s.Generation)
	}
	v := Evictions{taints: map[ID][]Taint{}}
	for _, s := range published {
		if s.Generation < newest[[2]string{s.Driver, s.Pool}] {
			continue
		}
		for _, d := range s.Devices {
			for _, t := range d.Taints {
				if t.Effect == NoExecute {
					id := ID{s.Driver, s.Pool, d.Name}
					v.taints[id] = append(v.taints[id], t)
				}
			}
		}
	}
	for _, r := range rules {
		if r.Taint.Effect == NoExecute {
			v.rules = append(v.rules, r)
		}
	}
	return v
}

// None reports whether no device has such a taint.
func (v Evictions) None() bool { return len(v.taints)+len(v.rules) == 0 }

// Evict reports whether one of the devices has an evicting taint that its request does not tolerate, or tolerates for a limited time.
// One such device is enough.
func (v Evictions) Evict(a *Allocation) bool {
	for _, d := range a.Devices {
		for _, t := range v.of(d.ID) {
			if d.Tolerations == nil || !d.Tolerations.Tolerates(t) {
				return true
			}
		}
	}
	return false
}

// of returns the evicting taints of a device.
func (v Evictions) of(id ID) []Taint {
	out := v.taints[id]
	for _, r := range v.rules {
		if r.selects(id, false) {
			out = append(out[:len(out):len(out)], r.Taint)
		}
	}
	return out
}
