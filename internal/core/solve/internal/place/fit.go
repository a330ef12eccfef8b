package place

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Whether pods fit a bin, and where they are counted then, is computed here only: for existing nodes, for open
// nodes, and for the bins of trials. A caller may reject the offer of Fit, and calls Take only for offers that it keeps.

// put places as many of the pods on a bin as it takes, and returns how many.
func (s *Placer) put(b compile.Bin, c *compile.Class, lv *compile.Level, o Option, pods []*model.Pod) int {
	placed := 0
	for placed < len(pods) {
		if s.Fit(&s.Offer, b, c, lv, o.Forms, pods[placed:]); s.Offer.Pods == 0 {
			break
		}
		n := s.Offer.Pods
		s.Take(&s.Offer, b, c, lv, pods[placed:placed+n])
		placed += n
		if c.Extended == nil && (b.Target != nil || !b.Open.Template.Attaches(c)) {
			break
		}
	}
	return placed
}

// Fit makes o the offer of a bin for as many of the pods, which are of one class, as it takes: by what is counted per host
// first, then by taints, ports, labels, capacity and volumes, and by devices last.
func (s *Placer) Fit(o *compile.Offer, b compile.Bin, c *compile.Class, lv *compile.Level, forms []*compile.Conjunction, pods []*model.Pod) {
	n := len(pods)
	if b.Host != compile.Uncounted {
		n = min(n, c.HostCapacity(lv, b.Host))
	}
	switch {
	case n == 0 || !c.MayGoTo(b) || lv.Beside != nil && !s.Targets.Runs(lv, b):
		o.Reset()
	case b.Target != nil:
		s.fitTarget(o, b.Target, c, lv, pods[:n])
	case b.Open.Template.Attaches(c):
		// Slots for volumes are counted pod by pod.
		trial := *b.Open
		trial.Mask = b.Open.Attaching(pods[0])
		if trial.Mask.Empty() {
			o.Reset()
			return
		}
		b.Open = &trial
		fitNew(s, o, b, c, lv, forms, pods[:1])
	default:
		fitNew(s, o, b, c, lv, forms, pods[:n])
	}
}

// fitNew makes o the offer of an open node by all that is known of it.
func fitNew(s *Placer, o *compile.Offer, b compile.Bin, c *compile.Class, lv *compile.Level, forms []*compile.Conjunction, pods []*model.Pod) {
	if lv.Beside != nil {
		forms = s.Classes.Admitting(lv, forms)
	}
	if !s.Daemons.Active() || b.Open.Trial || b.Host == compile.Uncounted {
		s.FitOpen(o, b, c, forms, pods)
		cutLate(s, o, b, lv)
		return
	}
	// Pods of DaemonSets may forbid one form and not another one.
	for i := range forms {
		s.FitOpen(o, b, c, forms[i:i+1], pods)
		cutLate(s, o, b, lv)
		if o.Pods > 0 {
			cut(o, s.Daemons.Cut(o, b, lv))
		}
		if o.Pods > 0 || o.Deferred {
			return
		}
	}
}

// cut lowers an offer to as many pods.
func cut(o *compile.Offer, fits int) {
	switch {
	case fits == o.Pods:
	case fits == 0 || o.Devices != nil:
		o.Reset()
	default:
		o.Pods = fits
	}
}

// cutLate lowers an offer of an open node to the pods that their spreads allow beside those on the node that are counted from then on,
// because the new pods decide the domain.
func cutLate(s *Placer, o *compile.Offer, b compile.Bin, lv *compile.Level) {
	if o.Pods == 0 || b.Open.Trial || o.State == b.Open.State || len(b.Open.Batches) == 0 {
		return
	}
	fits := o.Pods
	for _, owned := range lv.Owned {
		if owned.Kind != topology.KindSpread {
			continue
		}
		if d, late, floor := s.Counts.LateCount(owned.Group, b, o.State); late > 0 {
			fits = min(fits, owned.AllowedBeside(d, late, floor, owned.Self))
		}
	}
	cut(o, fits)
}

func (s *Placer) fitTarget(o *compile.Offer, t *compile.Target, c *compile.Class, lv *compile.Level, pods []*model.Pod) {
	o.Reset()
	if c = compile.ServedOn(c, t.Node, pods[0]); compile.OfOnePod(c) {
		pods = pods[:1]
	}
	n := c.Count(t.Free, nil, c.MaxPerNode(len(pods)))
	if n == 0 || !t.Accepts(c, lv) {
		return
	}
	if n = t.Volumes.Fits(pods[:n]); n == 0 {
		return
	}
	if len(c.DeviceClaims) > 0 {
		devices, ok := s.Devices.propose(t, c.DeviceClaims, s.deviceTimeout())
		if !ok {
			return
		}
		o.Devices = devices
	}
	o.Pods, o.Served = n, c
}

// FitOpen makes o the offer of an open node for as many of the pods, which are of one class, as it takes: that of the first of the forms
// that the node accepts.
func (s *Placer) FitOpen(o *compile.Offer, b compile.Bin, c *compile.Class, forms []*compile.Conjunction, pods []*model.Pod) {
	if c.Extended != nil {
		fitExtended(s, o, b, c, forms, pods)
		return
	}
	n := len(pods)
	if serving, restricted := compile.ServingColumns(c, b.Open.Template.Columns); restricted {
		trial := *b.Open
		trial.Mask = b.Open.Mask.And(serving)
		b.Open = &trial
		defer func() { o.Served = c }()
	}
	if len(c.DeviceClaims) == 0 {
		b.Open.ConsiderAny(o, c, forms, n)
		countOnce(s, o, b.Open, c)
		return
	}
	for _, form := range forms {
		s.fitDevices(o, b, c, form, n)
		if countOnce(s, o, b.Open, c); o.Pods > 0 {
			return
		}
	}
}

// Take accepts an offer of fit: the bin takes the pods and their devices, and they are counted. What an open node takes of
// limits and reservations is settled with it; bins of trials take none.
func (s *Placer) Take(o *compile.Offer, b compile.Bin, c *compile.Class, lv *compile.Level, pods []*model.Pod) {
	if o.Served != nil {
		c = o.Served
	}
	daemons := s.Daemons.Active() && b.Host != compile.Uncounted && (b.Open == nil || !b.Open.Trial)
	var first []*compile.Group // affinity that the pods may be the first of
	if daemons {
		for _, list := range [][]compile.Owned{lv.Owned, lv.Hosts} {
			for _, owned := range list {
				if owned.IsAffinity() && owned.MayBeFirst(owned.Self) {
					first = append(first, owned.Group)
				}
			}
		}
	}
	if b.Target != nil {
		b.Target.Take(c, pods)
		if o.Devices != nil {
			s.Devices.commit(b.Target.Node.ID, c.DeviceClaims, o.Devices)
		}
	} else {
		on := b.Open
		s.Counts.CountLate(b, o.State)
		on.Put(c, lv, o, pods)
		s.commitDevices(b, o)
		if !on.Trial {
			on.Template.Limits.Charge(on)
			on.Template.Reservations.Update(on)
		}
	}
	s.Counts.Add(b, c, len(pods))
	recordUnwelcome(s, b, c, lv, pods)
	if daemons {
		if b.Open != nil {
			s.Daemons.Update(b)
		}
		s.Daemons.Record(b, c, lv, func(g *compile.Group) bool { return slices.Contains(first, g) })
	}
}

// recordUnwelcome records pods that taints with the effect PreferNoSchedule would rather have elsewhere.
func recordUnwelcome(s *Placer, b compile.Bin, c *compile.Class, lv *compile.Level, pods []*model.Pod) {
	if !lv.Tolerant || b.Open != nil && b.Open.Trial {
		return
	}
	taints := b.Taints()
	if _, repelled := model.Untolerated(taints, c.Shape.Tolerations, false); repelled {
		s.Unwelcome = append(s.Unwelcome, pods...)
	}
}
