package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Whether pods fit a bin, and where they are counted then, is worked out here and nowhere else: for existing nodes, for open
// nodes, and for the bins of trials. A caller may reject what fit found, and call take only for what it keeps.

// put places as many of the pods on a bin as it takes, and returns how many.
func (s *placer) put(b bin, c *class, lv *level, o option, pods []*model.Pod) int {
	placed := 0
	for placed < len(pods) {
		if s.fit(&s.offer, b, c, lv, o.forms, pods[placed:]); s.offer.pods == 0 {
			break
		}
		n := s.offer.pods
		s.take(&s.offer, b, c, lv, pods[placed:placed+n])
		placed += n
		if b.target != nil || !b.open.t.attaches(c) {
			break
		}
	}
	return placed
}

// fit makes o the offer of a bin for as many of the pods, which are of one class, as it takes: by what is counted per host
// first, then by taints, ports, labels, capacity and volumes, and by devices last.
func (s *placer) fit(o *offer, b bin, c *class, lv *level, forms []*conjunction, pods []*model.Pod) {
	n := len(pods)
	if b.host != uncounted {
		n = min(n, c.hostCapacity(lv, b.host))
	}
	switch {
	case n == 0:
		o.reset()
	case b.target != nil:
		s.fitTarget(o, b.target, c, lv, pods[:n])
	case b.open.t.attaches(c):
		// Slots for volumes are counted pod by pod.
		trial := *b.open
		trial.mask = b.open.attaching(pods[0])
		if trial.mask.Empty() {
			o.reset()
			return
		}
		b.open = &trial
		s.fitOpen(o, b, c, forms, 1)
	default:
		s.fitOpen(o, b, c, forms, n)
	}
}

func (s *placer) fitTarget(o *offer, t *target, c *class, lv *level, pods []*model.Pod) {
	o.reset()
	n := c.count(t.room, nil, c.maxPerNode(len(pods)))
	if n == 0 || !t.accepts(c, lv) {
		return
	}
	if n = t.volumes.fits(pods[:n]); n == 0 {
		return
	}
	if len(c.deviceClaims) > 0 {
		devices, ok := s.devices.propose(t, c.deviceClaims, s.deviceTimeout())
		if !ok {
			return
		}
		o.devices = devices
	}
	o.pods = n
}

func (s *placer) fitOpen(o *offer, b bin, c *class, forms []*conjunction, n int) {
	if len(c.deviceClaims) == 0 {
		b.open.considerAny(o, c, forms, n)
		return
	}
	for _, form := range forms {
		if s.fitDevices(o, b, c, form, n); o.pods > 0 {
			return
		}
	}
}

// take accepts an offer of fit: the bin takes the pods and their devices, and they are counted. What an open node takes of
// limits and reservations is settled with it; bins of trials take none.
func (s *placer) take(o *offer, b bin, c *class, lv *level, pods []*model.Pod) {
	if b.target != nil {
		b.target.take(c, pods)
		if o.devices != nil {
			s.devices.commit(b.target.node.ID, c.deviceClaims, o.devices)
		}
	} else {
		on := b.open
		on.put(c, lv, o, pods)
		s.commitDevices(b, o)
		if !on.trial {
			on.t.limits.charge(on)
			on.t.reservations.update(on)
		}
	}
	s.counts.add(b, c, len(pods))
}
