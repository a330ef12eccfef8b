// Package subnet picks the subnets of launches: in each zone the one with most free addresses. EC2 reports free addresses
// periodically; the package counts the addresses of launches in flight in between.
//
// Source: AWS provider specification, subnet selection and in-flight addresses.
package subnet

import (
	"errors"
	"maps"
	"slices"
	"sync"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// rememberedReports is after how many reports about other subnets a subnet is forgotten: one that is in use is reported with them.
const rememberedReports = 10_000

// Ledger counts free addresses, of at most 20 000 subnets. The zero value is empty and ready to use; it is safe for concurrent use.
type Ledger struct {
	mu    sync.Mutex
	pages map[string]entry
	// reports counts the reports about all subnets.
	reports uint64
}

// entry is the recorded state of one subnet.
type entry struct {
	// free is the remaining addresses: as EC2 reported, minus launches in flight.
	free int64
	// heard counts the reports of EC2. Addresses taken before the latest report are included in it.
	heard uint64
	// last is which report of the ledger was the latest about this subnet.
	last uint64
}

// Observed stores the free addresses of a subnet as EC2 describes them. Launches in progress are in it, or will be the next time.
func (l *Ledger) Observed(id string, free int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages == nil {
		l.pages = map[string]entry{}
	}
	l.reports++
	if l.reports%rememberedReports == 0 {
		maps.DeleteFunc(l.pages, func(_ string, e entry) bool { return l.reports-e.last >= rememberedReports })
	}
	l.pages[id] = entry{free: free, heard: l.pages[id].heard + 1, last: l.reports}
}

// Full records that a launch found no free address in a subnet.
func (l *Ledger) Full(id string) { l.Observed(id, 0) }

// Choice are the subnets of one launch, one in each zone, in the order of the class's status.
type Choice struct {
	Subnets []awsv1.Subnet
	taken   map[string]taken
}

// taken is what a launch took from a subnet.
type taken struct {
	addresses int64
	heard     uint64
}

// Pick picks for each zone of a class's subnets the one with most free addresses, the first of equals, and takes from it as
// many as the launch will need there: one for each pod of the smallest type that may be started. A zone where nothing can be
// started (need is negative) is left out. The choice has to be settled when the launch is over, whatever came of it.
func (l *Ledger) Pick(subnets []awsv1.Subnet, need func(zone string) int64) (Choice, error) {
	if len(subnets) == 0 {
		return Choice{}, errors.New("no subnets matched selector")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	choice := Choice{taken: map[string]taken{}}
	for i, s := range subnets {
		if slices.ContainsFunc(subnets[:i], func(earlier awsv1.Subnet) bool { return earlier.Zone == s.Zone }) {
			continue
		}
		addresses := need(s.Zone)
		if addresses < 0 {
			continue
		}
		best := s
		for _, other := range subnets[i+1:] {
			if other.Zone == s.Zone && l.pages[other.ID].free > l.pages[best.ID].free {
				best = other
			}
		}
		choice.Subnets = append(choice.Subnets, best)
		if have, ok := l.pages[best.ID]; ok {
			have.free -= addresses
			l.pages[best.ID] = have
			choice.taken[best.ID] = taken{addresses, have.heard}
		}
	}
	return choice, nil
}

// Settle returns the addresses that a launch took from subnets in which nothing was started. After a new report of EC2 there is nothing
// to return: the report is current. Settling twice returns them once.
func (l *Ledger) Settle(choice Choice, started []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, took := range choice.taken {
		if have := l.pages[id]; have.heard == took.heard && !slices.Contains(started, id) {
			have.free += took.addresses
			l.pages[id] = have
		}
		delete(choice.taken, id)
	}
}
