package sim

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Scene is what a cluster has, and how its users and its hardware behave. The zero value of a field leaves it to the seed, or to its default.
type Scene struct {
	// Every is the mean time between two actions of users; MaxPods bounds the pods that they ask for.
	Every   time.Duration
	MaxPods int
	// Create, Scale, Remove, EditPool, DeleteNode, DeleteClaim and Die are how often an action is chosen, relative to the others.
	Create, Scale, Remove, EditPool, DeleteNode, DeleteClaim, Die int
	// Silent is how often a kubelet stops reporting for some minutes, Outdate how often a new image makes all instances drift, and Outage how
	// often all offerings of a zone run out.
	Silent, Outdate, Outage int
	// Reboots is the mean time between two requests to reboot a node; zero for none.
	Reboots time.Duration
	// Unhealthy is the mean time between two nodes that become unhealthy, as repair policies see it; zero for none, and no repair.
	Unhealthy time.Duration
	// Stateful is how often a StatefulSet of one pod with a volume is created, or deleted.
	Stateful int
	// Foreign is how often a Node that is not Karpenter's joins, or leaves.
	Foreign int
	// Generations is how many templates EditPool chooses from; zero for four. With two a template is often changed back.
	Generations int
	// Pools is the number of further NodePools, each with a limit of three nodes, and up to the tenth with a higher weight than the one before.
	Pools int
	// NoNodeController leaves the Nodes of instances that died to Karpenter: no controller of the cloud deletes them.
	NoNodeController bool
	// LateLabels has Nodes join without the labels of their instance, which a controller of the cloud adds up to half a minute later.
	LateLabels bool
	// Forgetful is a cloud that does not recognize the repeated launch of a NodeClaim.
	Forgetful bool
	// Budget is how many percent of the nodes of a pool may be disrupted at a time; Protected of how many workloads one has pods that must
	// not be disrupted, Guarded of how many one has a PodDisruptionBudget, Plain ones have nothing of that.
	Budget, Protected, Guarded int
	Plain                      bool
	// ExpireAfter and Grace are those of the nodes.
	ExpireAfter, Grace time.Duration
	// Nodes is limits.nodes of the pool for pods.
	Nodes int
	// Static is the number of replicas of a static pool, and StaticLimit its limits.nodes. Users change the replicas with EditStatic.
	Static, StaticLimit, EditStatic int
	// Buffer is the number of replicas of a CapacityBuffer.
	Buffer int
	// Frozen stops disruption for the time with faults by an OperationsPolicy; Cap is the cost of the cluster in dollars per hour that it allows.
	Frozen bool
	Cap    string
	// WhenEmpty consolidates empty nodes only. If, beside that, users only create, nodes that never had a pod are a violation.
	WhenEmpty bool
	// Lease has two replicas, of which the one acts that has the lease. Handovers are those of the lease then.
	Lease bool
	// Types is how many instance types the cloud has; zero for the whole catalog. A run with fewer is faster.
	Types int
	// ConsolidateAfter is when nodes without changes are consolidated.
	ConsolidateAfter time.Duration
}

// everyday is a cluster in which a bit of everything happens.
func everyday() Scene {
	return Scene{
		Every: time.Minute, MaxPods: 200, Create: 35, Scale: 30, Remove: 15, EditPool: 8, DeleteNode: 5, DeleteClaim: 3, Die: 4, Stateful: 8,
		Budget: budgetPercent, Protected: 6, Guarded: 3, ConsolidateAfter: 30 * time.Second,
		Reboots: 5 * time.Minute, Unhealthy: 5 * time.Minute,
	}
}

// Set changes fields of structs by name, from words such as "LostLaunch=0.3 Static=4 Every=20s". A field must be in exactly one of them.
func Set(text string, targets ...any) error {
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		found := false
		for _, target := range targets {
			if field := reflect.ValueOf(target).Elem().FieldByName(name); field.IsValid() {
				if err := setField(field, value); err != nil {
					return fmt.Errorf("%s: %w", word, err)
				}
				found = true
			}
		}
		if !found {
			return fmt.Errorf("%s: no such setting", word)
		}
	}
	return nil
}

func setField(field reflect.Value, value string) error {
	switch field.Interface().(type) {
	case time.Duration:
		d, err := time.ParseDuration(value)
		field.SetInt(int64(d))
		return err //nolint:wrapcheck // the caller says what it is about
	case int:
		n, err := strconv.Atoi(value)
		field.SetInt(int64(n))
		return err //nolint:wrapcheck // the caller says what it is about
	case float64:
		x, err := strconv.ParseFloat(value, 64)
		field.SetFloat(x)
		return err //nolint:wrapcheck // the caller says what it is about
	case bool:
		b, err := strconv.ParseBool(value)
		field.SetBool(b)
		return err //nolint:wrapcheck // the caller says what it is about
	case string:
		field.SetString(value)
		return nil
	}
	return errors.New("it cannot be set")
}
