package diagnose

import (
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// Problem: several things narrow the instance types of a pool before a pod's requests are compared with what is left, and
// the last comparison is rarely the cause: where a limit leaves small instance types only, the pod is not too large.
//
// Approach: every test is made on its own, over all columns of the pool. A test is the cause if the others together leave a
// column; limits, ports, attach limits, daemons and unavailable offerings come before labels and requests, because the user
// sees those two already in the pod and its pool.
//
// Cost: O(columns) per unschedulable class and pool, and a few bitsets per way in which spread and affinity can be met.

// poolFilter is the tests of a pool's columns for one pod, each on its own.
type poolFilter struct {
	t   *compile.Template
	c   *compile.Class
	pod *model.Pod
	// resources names the entries of vectors.
	resources []string
	// admitted are the columns that the limits admit, portFree those where no daemon uses a port of the pod, attaching those with
	// slots for its volumes, fits those with enough capacity, bare those with enough capacity without the daemons.
	admitted, portFree, attaching, fits, bare bitset.Set
	// capacity is that for which the tests were run: DaemonSets that the pod's requirements exclude take none.
	capacity *compile.NodeCapacity
}

// runTests runs the tests for nodes in the state next, once: for most pods an earlier reason needs none of them.
func (s *poolFilter) runTests(next *compile.State) {
	capacity := s.t.CapacityIn(next)
	s.portFree = compile.PortsFreeIn(s.t, next, s.c)
	if s.capacity == capacity {
		return
	}
	s.capacity = capacity
	t, c, all := s.t, s.c, bitset.Full(s.t.Columns.Len())
	s.attaching, s.fits = all, all.Clone()
	if t.Attaches(c) {
		s.attaching = (&compile.OpenNode{Template: t, Mask: all}).Attaching(s.pod)
	}
	(&compile.OpenNode{Template: t}).Fitting(capacity, c, s.fits, 1)
	if s.bare = s.fits; !capacity.Daemoned {
		return
	}
	s.bare = bitset.New(t.Columns.Len())
	for column := range all.All() {
		if c.Count(t.Columns.Allocatable(column), nil, 1) > 0 {
			s.bare.Add(column)
		}
	}
}

// closed reports whether the limits of the pool admit no node at all.
func (s *poolFilter) closed() bool {
	return s.t.Limits.Exhausted() || !s.admitted.Intersects(s.t.States[s.t.Root].Mask)
}

// compared are the columns that are compared with the pod: those that the limits admit, or all, if they admit none.
func (s *poolFilter) compared() bitset.Set {
	if s.closed() {
		return bitset.Full(s.t.Columns.Len())
	}
	return s.admitted
}

// sufficient are the columns that would take the pod in the state next, whatever the limits.
func (s *poolFilter) sufficient(next *compile.State) bitset.Set {
	s.runTests(next)
	return next.Mask.And(s.portFree).And(s.attaching).And(s.fits)
}

// overLimits is the reason that limits exclude the columns that would take the pod.
func (s *poolFilter) overLimits(would bitset.Set, next *compile.State) unschedulable.Reason {
	r := unschedulable.OverLimits(s.limits(would, next), !s.closed())
	if s.t.Limits.Exhausted() {
		r.Code = unschedulable.NodesExhausted
	}
	return r
}

// whyFew is the reason that the columns left have too few values of a label, and the limits with which there would be enough.
func (s *poolFilter) whyFew(next *compile.State, left, limited bitset.Set) unschedulable.Reason {
	t := s.t
	r := unschedulable.Reason{Code: unschedulable.MinValuesUnmet, Keys: t.Unmet(next, left), Requirements: t.Requirements(next)}
	for _, m := range (&compile.OpenNode{Template: t}).Minimums(next) {
		if n := t.Distinct(next, m.Key, left); n < m.Values {
			r.MinValues = append(r.MinValues, unschedulable.MinValues{Key: t.Universe.Keys[m.Key].Name, Required: m.Values, Available: n})
		}
	}
	if len(t.Unmet(next, limited)) == 0 {
		r.Limits = s.limits(limited, next)
	}
	return r
}

// why is what the instance types of the pool lack for an open node in the state next.
func (s *poolFilter) why(next *compile.State) unschedulable.Reason {
	t, limited := s.t, s.sufficient(next)
	if left := limited.And(s.admitted); !left.Empty() {
		return s.whyFew(next, left, limited)
	}
	if !limited.Empty() {
		if !t.BestEffort && len(t.Unmet(next, limited)) > 0 {
			return s.whyFew(next, limited, limited) // with any limits
		}
		t.AwayFromDaemons(limited, next, s.c)
		return s.overLimits(limited, next)
	}
	reqs, compared := t.Requirements(next), s.compared()
	rest := next.Mask.And(compared)
	for column := range rest.And(s.attaching).And(s.fits).All() {
		port, _ := model.FirstConflict(s.c.Shape.HostPorts, s.capacity.DaemonPorts[column])
		return unschedulable.Reason{Code: unschedulable.HostPortTaken, Port: port.String()}
	}
	if without := rest.And(s.portFree).And(s.fits); !without.Empty() {
		return unschedulable.Reason{Code: unschedulable.VolumesNotAttachable, AttachLimit: s.slots(without)}
	}
	r := unschedulable.Reason{Code: unschedulable.NoInstanceType, Criteria: s.criteria(next), Requirements: reqs}
	r.HugeCPU = s.c.Shape.Requests.At(resource.CPU) >= hugeCPU
	others := compared.And(s.portFree).And(s.attaching)
	if without := next.Mask.And(others).And(s.bare); !without.Empty() {
		least, _ := s.capacity.DaemonRange(without)
		r.Code, r.Daemons = unschedulable.DaemonsTakeRoom, resource.Describe(least, s.resources)
		return r
	}
	if offers := unavailable(t, next, next.Labels.And(others).And(s.fits)); len(offers) > 0 {
		r.Code, r.UnavailableOfferings = unschedulable.OfferingUnavailable, offers
		return r
	}
	r.Without, r.Insufficient = s.without(next, others.And(s.fits)), s.insufficientResources(next.Mask)
	return r
}

// criteria tests labels, resources and offerings independently of each other, over the columns that are compared with the pod.
func (s *poolFilter) criteria(next *compile.State) unschedulable.Criteria {
	compared := s.compared()
	labels, fits, offers := next.Labels.And(compared), s.fits.And(compared), next.Offers.And(compared)
	return unschedulable.Criteria{
		Requirements:             !labels.Empty(),
		Resources:                !fits.Empty(),
		Offering:                 !offers.Empty(),
		RequirementsAndResources: labels.Intersects(fits),
		RequirementsAndOffering:  labels.Intersects(offers),
		ResourcesAndOffering:     fits.Intersects(offers),
	}
}

// limits are those that exclude otherwise sufficient columns: as few columns as minValues requires, those first that exceed the
// fewest limits by the least. Where no column is sufficient, they are the limits that exclude all columns, without Needed.
func (s *poolFilter) limits(would bitset.Set, next *compile.State) []unschedulable.Limit {
	t, bounds := s.t, s.t.Limits.List
	columns := slices.Collect(would.All())
	excess := make([][]int64, t.Columns.Len())
	for _, column := range columns {
		// How many limits are exceeded, then by how much.
		excess[column] = make([]int64, 1, 1+len(bounds))
		for _, b := range bounds {
			over := max(model.AmountOf(t.Capacity(column), b.Resource)-b.Remaining, 0)
			excess[column][0] += min(over, 1)
			excess[column] = append(excess[column], over)
		}
	}
	slices.SortStableFunc(columns, func(a, b int) int { return slices.Compare(excess[a], excess[b]) })
	most, taken := make([]int64, len(bounds)), bitset.New(t.Columns.Len())
	enough := false
	for _, column := range columns {
		taken.Add(column)
		for i, b := range bounds {
			most[i] = max(most[i], model.AmountOf(t.Capacity(column), b.Resource))
		}
		if enough = t.BestEffort || len(t.Unmet(next, taken)) == 0; enough {
			break
		}
	}
	alone := slices.ContainsFunc(bounds, s.keepsOut)
	var out []unschedulable.Limit
	for i, b := range bounds {
		l := s.limit(b)
		switch {
		case enough && most[i] > b.Remaining:
			l.Needed = resource.FormatNamed(l.Resource, b.Resource, resource.AddSaturated(resource.SubSaturated(b.Total, b.Remaining), most[i]))
		case enough || alone && !s.keepsOut(b):
			continue
		}
		out = append(out, l)
	}
	return out
}

func (s *poolFilter) limit(b compile.Limit) unschedulable.Limit {
	name := s.resources[b.Resource]
	return unschedulable.Limit{
		Resource: name,
		Limit:    resource.FormatNamed(name, b.Resource, b.Total),
		Used:     resource.FormatNamed(name, b.Resource, resource.SubSaturated(b.Total, b.Remaining)),
	}
}

// keepsOut reports whether a limit alone leaves no column of the pool.
func (s *poolFilter) keepsOut(b compile.Limit) bool {
	for column := range s.t.States[s.t.Root].Mask.All() {
		if model.AmountOf(s.t.Capacity(column), b.Resource) <= b.Remaining {
			return false
		}
	}
	return true
}

// slots is the driver with more volumes than any of the columns can attach; where every driver alone is within its limit, the first.
func (s *poolFilter) slots(columns bitset.Set) unschedulable.AttachLimit {
	asked := map[string]int{}
	var drivers []string
	for _, a := range s.pod.Attachments() {
		if asked[a.Driver]++; asked[a.Driver] == 1 {
			drivers = append(drivers, a.Driver)
		}
	}
	slices.Sort(drivers)
	var first unschedulable.AttachLimit
	for _, driver := range drivers {
		most, limited := 0, true
		for column := range columns.All() {
			n, known := s.t.Columns.Types[s.t.Columns.Owner[column]].Attachable[driver]
			most, limited = max(most, n), limited && known
		}
		slots := unschedulable.AttachLimit{Driver: driver, Volumes: asked[driver], Max: most}
		if limited && asked[driver] > most {
			return slots
		}
		if first.Driver == "" && limited {
			first = slots
		}
	}
	return first
}

// insufficientResources are the requests that exceed the capacity of all columns; of all columns of the pool, if there are none. The order
// of resources that not every table knows is that of their names: the table has them in the order in which it met them.
func (s *poolFilter) insufficientResources(columns bitset.Set) []unschedulable.InsufficientResource {
	if columns.Empty() {
		columns = bitset.Full(s.t.Columns.Len())
	}
	var out []unschedulable.InsufficientResource
	known := 0
	for _, need := range s.c.Needs {
		if need.Resource == resource.Unoffered {
			for _, r := range s.c.Shape.Unoffered {
				out = append(out, unschedulable.InsufficientResource{
					Resource: r.Name, Requested: resource.Format(resource.Unoffered, r.Amount), Available: "0", Unoffered: true, Hint: unschedulable.Meant(r.Name, s.resources),
				})
			}
			continue
		}
		var most int64
		for column := range columns.All() {
			most = max(most, s.capacity.Available[column].At(need.Resource))
		}
		if most < need.Amount {
			out = append(out, unschedulable.InsufficientResource{
				Resource:  s.resources[need.Resource],
				Requested: resource.Format(need.Resource, need.Amount),
				Available: resource.Format(need.Resource, most),
			})
			if need.Resource <= resource.Nodes {
				known = len(out)
			}
		}
	}
	slices.SortFunc(out[known:], func(a, b unschedulable.InsufficientResource) int { return strings.Compare(a.Resource, b.Resource) })
	return out
}

// without are the requirements of which each alone, left out, leaves one of the columns.
func (s *poolFilter) without(next *compile.State, columns bitset.Set) requirement.Set {
	t := s.t
	var out []requirement.Requirement
	for _, r := range t.Requirements(next) {
		key := t.Universe.Index[r.Key]
		loose := next.Without(key)
		left := columns
		for _, other := range loose.Terms {
			left = left.And(t.Columns.Matching(other))
		}
		offered := bitset.New(t.Columns.Len())
		for _, k := range t.Columns.Kinds {
			if t.Compatible(loose, k.Terms) {
				offered.Or(k.Columns)
			}
		}
		if left.Intersects(offered) {
			out = append(out, r)
		}
	}
	return out
}

// UnavailableOfferings are the offerings that the pool's own requirements admit and that are unavailable at the moment.
func UnavailableOfferings(t *compile.Template) []string {
	root := t.States[t.Root]
	return unavailable(t, root, root.Labels)
}

// unavailable are the unavailable offerings of the columns that meet all other tests in the state.
func unavailable(t *compile.Template, next *compile.State, columns bitset.Set) []string {
	var out []string
	for _, k := range t.Columns.Unavailable() {
		meant := k.Columns.And(columns)
		if meant.Empty() || !t.Compatible(next, k.Terms) {
			continue
		}
		var types, words []string
		for column := range meant.All() {
			types = append(types, t.Columns.Types[t.Columns.Owner[column]].Name)
		}
		slices.Sort(types)
		for _, key := range []string{compile.CapacityTypeKey, place.ZoneLabel} {
			for _, w := range k.Terms {
				if known := t.Universe.Keys[w.Key]; known.Name == key {
					words = append(words, strings.Join(known.Sets[w.Set].Values(), " "))
				}
			}
		}
		text := strings.Join(words, " in ") + ": " + types[0]
		if more := len(types) - 1; more > 0 {
			text += " and others"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}
