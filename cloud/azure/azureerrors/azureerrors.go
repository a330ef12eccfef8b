// Package azureerrors classifies errors of launches on Azure: which offerings they make unavailable, for how long, and what users are told.
//
// Errors of Azure have a code and a message. Some codes stand for several causes, which only the message tells apart.
//
// Source: Azure provider specification, errors and the unavailable-offerings cache.
package azureerrors

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
)

// Reasons why a launch failed. They are those of the condition Launched of NodeClaims.
const (
	ReasonSubscriptionQuotaReached              = "SubscriptionQuotaReached"
	ReasonSKUNotAvailable                       = "SKUNotAvailable"
	ReasonZonalAllocationFailure                = "ZonalAllocationFailure"
	ReasonAllocationFailure                     = "AllocationFailure"
	ReasonOverconstrainedZonalAllocationFailure = "OverconstrainedZonalAllocationFailure"
	ReasonOverconstrainedAllocationFailure      = "OverconstrainedAllocationFailure"
	// ReasonCreateInstanceFailed is the reason of all errors that are not known to be about capacity or quota.
	ReasonCreateInstanceFailed = "CreateInstanceFailed"
)

// Codes of errors for subnets without enough free addresses.
const (
	codeSubnetFull     = "SubnetIsFull"
	codeSubnetTooSmall = "InsufficientSubnetSize"
)

// How long offerings are unavailable. Ten minutes are enough to try all smaller sizes of a family before the largest one is retried.
const (
	quotaExhausted = 10 * time.Minute
	capacity       = time.Hour
	notSold        = 23 * time.Hour
)

// maxMessage is the most bytes of an error that the condition of a NodeClaim shows.
const maxMessage = 1200

// Attempt is the offering that a launch tried.
type Attempt struct {
	// InstanceType is the type, Zones are the zones of all of its offerings as values of the label, the one for regional placement included.
	InstanceType unavailableofferings.InstanceType
	Zones        []string
	// CapacityType and Zone are those of the offering.
	CapacityType, Zone string
}

// Failure is what follows from an error.
type Failure struct {
	// Reason is one of the constants above.
	Reason string
	// Unavailable are the offerings that are not to be tried for a while; the zero value if there are none.
	Unavailable unavailableofferings.Mark
	// InsufficientCapacity says that no other size helps: the NodeClaim is not to be retried.
	InsufficientCapacity bool
}

// scope says which offerings of the type an error makes unavailable.
type scope struct {
	// zones are the zones, from those of an attempt.
	zones func(Attempt) []string
	// bothCapacityTypes says that the capacity type makes no difference. Otherwise it is that of the attempt.
	bothCapacityTypes bool
}

// rule is a row of the table of known errors.
type rule struct {
	code string
	// contains is a part of the message; empty if the code is enough.
	contains string
	reason   string
	scope    scope
	// spot says that all spot capacity is unavailable, insufficientCapacity that nothing is, but that no other size helps.
	spot, insufficientCapacity bool
	// duration is how long offerings are unavailable.
	duration func(message string, a Attempt) time.Duration
}

// rules returns the known errors of virtual machines. The first one that matches counts.
func rules() []rule {
	return []rule{
		{code: "OperationNotAllowed", contains: "LowPriorityCores", reason: ReasonSubscriptionQuotaReached, spot: true, duration: always(capacity)},
		{code: "OperationNotAllowed", contains: "Family Cores quota", reason: ReasonSubscriptionQuotaReached, scope: scope{zones: allZones}, duration: quotaDuration},
		{code: "SkuNotAvailable", reason: ReasonSKUNotAvailable, scope: scope{zones: zonesOfScope}, duration: notAvailableDuration},
		{code: "ZonalAllocationFailed", reason: ReasonZonalAllocationFailure, scope: scope{zones: thisZone, bothCapacityTypes: true}, duration: always(capacity)},
		{code: "AllocationFailed", reason: ReasonAllocationFailure, scope: scope{zones: zonesOfScope, bothCapacityTypes: true}, duration: always(capacity)},
		{code: "OverconstrainedZonalAllocationRequest", reason: ReasonOverconstrainedZonalAllocationFailure, scope: scope{zones: thisZone}, duration: always(capacity)},
		{code: "OverconstrainedAllocationRequest", reason: ReasonOverconstrainedAllocationFailure, scope: scope{zones: zonesOfScope}, duration: always(capacity)},
		{code: "OperationNotAllowed", contains: "exceeding approved Total Regional Cores quota", reason: ReasonCreateInstanceFailed, insufficientCapacity: true},
	}
}

// requestRules returns the known errors of requests for AKSMachines.
func requestRules() []rule {
	return []rule{
		{code: "VMSizeNotSupported", reason: ReasonSKUNotAvailable, scope: scope{zones: allZones, bothCapacityTypes: true}, duration: always(notSold)},
		{
			code: "BadRequest", contains: "is not supported for subscription", reason: ReasonSKUNotAvailable, scope: scope{zones: allZones, bothCapacityTypes: true},
			duration: always(notSold),
		},
	}
}

// Classify returns what follows from an error of a virtual machine: of the request for it, of the operation that creates it, or of the
// operation that creates an AKSMachine. The message is the error as text.
func Classify(code, message string, a Attempt) Failure { return classify(rules(), code, message, a) }

// IsSubnetFull reports whether a code says that a subnet has too few free addresses: of a network interface, or of an AKSMachine.
func IsSubnetFull(code string) bool { return code == codeSubnetFull || code == codeSubnetTooSmall }

// ClassifyRequest returns what follows from an error of a request for an AKSMachine. The message is the error as text.
func ClassifyRequest(code, message string, a Attempt) Failure {
	return classify(requestRules(), code, message, a)
}

func classify(rules []rule, code, message string, a Attempt) Failure {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.code == code && strings.Contains(message, r.contains) })
	if i < 0 {
		return Failure{Reason: ReasonCreateInstanceFailed}
	}
	r := rules[i]
	out := Failure{Reason: r.reason, InsufficientCapacity: r.insufficientCapacity}
	switch {
	case r.insufficientCapacity:
	case r.spot:
		out.Unavailable = unavailableofferings.Mark{Spot: true, Duration: r.duration(message, a)}
	default:
		out.Unavailable = unavailableofferings.Mark{
			InstanceType: a.InstanceType, CapacityTypes: []string{a.CapacityType}, Zones: r.scope.zones(a), Duration: r.duration(message, a),
		}
		if r.scope.bothCapacityTypes {
			out.Unavailable.CapacityTypes = []string{v1.CapacityTypeOnDemand, v1.CapacityTypeSpot}
		}
	}
	return out
}

// Error returns the error of a launch, given its cause: insufficient capacity if no other size helps, otherwise a create error with the
// reason and the text of the cause, which is cut to 1200 bytes.
func (f Failure) Error(cause error) error {
	cause = readable{cause}
	if f.InsufficientCapacity {
		return cloud.NewInsufficientCapacityError(cause)
	}
	return cloud.NewCreateError(cause, f.Reason, cut(cause.Error()))
}

// cut shortens a long message, at the start of a character.
func cut(message string) string {
	if len(message) < maxMessage {
		return message
	}
	end := maxMessage
	for end < len(message) && !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + "..."
}

func thisZone(a Attempt) []string { return []string{a.Zone} }

func allZones(a Attempt) []string { return slices.Clone(a.Zones) }

// zonesOfScope are the zones with the placement of the attempt: all that are zones, or none but regional placement.
func zonesOfScope(a Attempt) []string {
	return slices.DeleteFunc(slices.Clone(a.Zones), func(zone string) bool {
		return (zone == label.ZoneRegional) != (a.Zone == label.ZoneRegional)
	})
}

func always(d time.Duration) func(string, Attempt) time.Duration {
	return func(string, Attempt) time.Duration { return d }
}

// quotaDuration tells a quota that is used up, which other nodes may give back soon, from one that was never granted.
func quotaDuration(message string, _ Attempt) time.Duration {
	if strings.Contains(message, "Current Limit: 0") {
		return capacity
	}
	return quotaExhausted
}

// notAvailableDuration tells a type that is short as spot capacity from one that the subscription cannot have.
func notAvailableDuration(_ string, a Attempt) time.Duration {
	if a.CapacityType == v1.CapacityTypeSpot {
		return capacity
	}
	return notSold
}
