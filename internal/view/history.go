package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/api/quantity"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// chronicle keeps the decoded records, and reads only new ones.
type chronicle struct {
	source ledger.Records

	mu      sync.Mutex
	records []ledger.Record
	created map[string]time.Time // by name of the NodeClaim
	// notes are what is missing among the records.
	notes []string
}

func newChronicle(source ledger.Records) *chronicle {
	return &chronicle{source: source, created: map[string]time.Time{}}
}

// all returns all records, oldest first. The list must not be changed.
func (c *chronicle) all(ctx context.Context) ([]ledger.Record, []string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var after uint64
	if n := len(c.records); n > 0 {
		after = c.records[n-1].Seq
	}
	lines, cover, err := c.source.Read(ctx, ledger.Filter{After: after})
	if err != nil {
		return nil, nil, fmt.Errorf("reading the ledger: %w", err)
	}
	if cover.Last < after { // another ledger
		c.records, c.created = nil, map[string]time.Time{}
		if lines, cover, err = c.source.Read(ctx, ledger.Filter{}); err != nil {
			return nil, nil, fmt.Errorf("reading the ledger: %w", err)
		}
	}
	first := sort.Search(len(c.records), func(i int) bool { return c.records[i].Seq >= cover.First })
	c.records = slices.Clone(c.records[first:]) // others read the list
	unreadable := 0
	for _, line := range lines {
		r, err := ledger.Decode(line)
		if err != nil {
			unreadable++
			continue
		}
		if r.NodeClaim != nil && r.NodeClaim.Event == ledger.Created {
			c.created[r.NodeClaim.Name] = r.Time
		}
		c.records = append(c.records, slim(r))
	}
	c.notes = missing(cover)
	if unreadable > 0 {
		c.notes = append(c.notes, fmt.Sprintf("%d records of the ledger, which cannot be read", unreadable))
	}
	return c.records, c.notes, nil
}

// missing says what a ledger lacks of the period that it covers.
func missing(cover ledger.Coverage) []string {
	var out []string
	for _, what := range cover.Unreadable {
		out = append(out, "a part of the ledger: "+what)
	}
	if cover.Lost > 0 {
		out = append(out, fmt.Sprintf("%d records of the ledger, which could not be written to disk", cover.Lost))
	}
	return out
}

// slim drops the lists that no view shows: they are most of the memory.
func slim(r ledger.Record) ledger.Record {
	if r.Disruption != nil {
		d := *r.Disruption
		d.LeftAlone, r.Disruption = nil, &d
	}
	if r.Provisioning != nil {
		p := *r.Provisioning
		p.Placements, r.Provisioning = nil, &p
	}
	return r
}

// moment is the fleet at one moment of the past.
type moment struct {
	at      time.Time
	records []ledger.Record // up to at
	history ledger.History
	created map[string]time.Time
	unknown []string
}

// at rebuilds the fleet at a moment; the zero time is the last record.
func (c *chronicle) at(ctx context.Context, at time.Time) (*moment, error) {
	records, notes, err := c.all(ctx)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%w: the ledger has no records", ErrNotFound)
	}
	from, to := records[0].Time, records[len(records)-1].Time
	if at.IsZero() {
		at = to
	}
	if at.Before(from) {
		return nil, fmt.Errorf("%w: the ledger covers the time from %s to %s", ErrNotFound, stamp(from), stamp(to))
	}
	n := sort.Search(len(records), func(i int) bool { return records[i].Time.After(at) })
	m := &moment{at: at, records: records[:n], unknown: slices.Concat(notes, []string{
		"pods and what nodes hold: the ledger records nodes and decisions, not pods",
		"nodes that Karpenter does not manage",
	})}
	for _, r := range records[lastList(m.records):n] {
		m.history.Apply(r)
	}
	if !m.history.Complete {
		m.unknown = append(m.unknown, "nodes older than the records: no list of the whole fleet was recorded before "+stamp(at))
	}
	if at.After(to) {
		m.unknown = append(m.unknown, "what happened after the last record, of "+stamp(to))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m.created = make(map[string]time.Time)
	for _, s := range m.history.NodeClaims() {
		m.created[s.Name] = c.created[s.Name]
	}
	return m, nil
}

// lastList is the index of the first record of the last list of the whole fleet; 0 if there is none.
func lastList(records []ledger.Record) int {
	parts := map[int]bool{}
	for i := len(records) - 1; i >= 0; i-- {
		f := records[i].Fleet
		if f == nil {
			continue
		}
		parts[f.Part] = true
		if f.Part == 1 {
			if len(parts) == f.Parts {
				return i
			}
			clear(parts)
		}
	}
	return 0
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// nodes are the nodes at the moment, by name.
func (m *moment) nodes() []Node {
	disrupting := map[string]bool{}
	for _, c := range m.commands() {
		if c.State == UnderWay {
			for _, name := range c.claims {
				disrupting[name] = true
			}
		}
	}
	out := []Node{}
	for _, s := range m.history.NodeClaims() {
		n := Node{
			Name: cmp.Or(s.Node, s.Name), NodeClaim: s.Name, NodePool: s.NodePool, InstanceType: s.InstanceType, Zone: s.Zone, CapacityType: s.CapacityType,
			PricePerHour: s.Price, Created: m.created[s.Name], Allocatable: amountsOfText(s.Allocatable), State: phaseState(s.Phase),
		}
		if disrupting[s.Name] && n.State != Draining {
			n.State = Disrupting
		}
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func phaseState(p ledger.Phase) State {
	switch p {
	case ledger.Registered:
		return Starting
	case ledger.Initialized:
		return Ready
	case ledger.Deleting, ledger.Deleted, ledger.Disrupted:
		return Draining
	default:
		return Launching
	}
}

// amountsOfText reads quantities by resource.
func amountsOfText(list map[string]string) Amounts {
	read := func(name string) resource.Quantity {
		q, _ := quantity.Parse(cmp.Or(list[name], "0")) // the ledger wrote it
		return q
	}
	cpu, memory, pods := read("cpu"), read("memory"), read("pods")
	return Amounts{CPU: cpu.MilliValue(), Memory: memory.Value(), Pods: pods.Value()}
}

// pending is the number of pods without a place in the last pass of provisioning.
func (m *moment) pending() int {
	n := 0
	if pass := m.lastPass(); pass != nil {
		for _, u := range pass.Unschedulable {
			n += u.Pods.Count
		}
	}
	return n
}

// lastPass is the last pass of provisioning before the moment; nil for none, or where a controller has started since.
func (m *moment) lastPass() *ledger.Provisioning {
	for i := len(m.records) - 1; i >= 0 && m.records[i].Start == nil; i-- {
		if m.records[i].Provisioning != nil {
			return m.records[i].Provisioning
		}
	}
	return nil
}

// life are the records about a node, and why it was launched; nil if that is not among them.
func (m *moment) life(node, claim string) ([]ledger.Record, *Why) {
	out := []ledger.Record{}
	if claim == "" {
		return out, nil
	}
	var why *Why
	for _, r := range ledger.Select(m.records, ledger.Filter{NodeClaim: claim, Kinds: []ledger.Kind{ledger.KindNodeClaim, ledger.KindCommand, ledger.KindSaving}}) {
		out = append(out, r)
		if e := r.NodeClaim; e != nil && e.Name == claim && e.Event == ledger.Created {
			why = &Why{Reason: e.Reason, Command: e.Command, At: r.Time, Pods: ledger.Names{First: []string{}}}
			if e.Pods != nil {
				why.Pods = *e.Pods
			}
		}
	}
	_ = node
	return out, why
}

// Timeline implements Source.
func (v *Views) Timeline(ctx context.Context) (Timeline, error) {
	p, err := v.now(ctx)
	if err != nil {
		return Timeline{}, err
	}
	out := Timeline{Head: v.head("Timeline", p), Gaps: []Gap{}, Moments: []Moment{}}
	if v.records == nil {
		out.Unknown = append(out.Unknown, "the past: there is no ledger here")
		return out, nil
	}
	records, notes, err := v.records.all(ctx)
	if err != nil {
		return out, err
	}
	out.Unknown = append(out.Unknown, notes...)
	if len(records) == 0 {
		return out, nil
	}
	out.From, out.To = &records[0].Time, &records[len(records)-1].Time
	for i := range records {
		r := &records[i]
		if r.Start != nil && i > 0 {
			out.Gaps = append(out.Gaps, Gap{From: records[i-1].Time, To: r.Time})
		}
		if worthALook(r) {
			out.Moments = append(out.Moments, Moment{At: r.Time, Kind: r.Kind, Text: r.Summary()})
		}
	}
	if n := len(out.Moments) - maxMoments; n > 0 {
		out.Moments = out.Moments[n:]
		out.Unknown = append(out.Unknown, fmt.Sprintf("%d older moments", n))
	}
	return out, nil
}

// maxMoments is how many moments a time line has at most.
const maxMoments = 1000

func worthALook(r *ledger.Record) bool {
	switch {
	case r.Start != nil, r.Command != nil, r.Plan != nil:
		return true
	case r.Provisioning != nil:
		return len(r.Provisioning.NodeClaims) > 0
	case r.Disruption != nil:
		return len(r.Disruption.Commands) > 0
	}
	return false
}
