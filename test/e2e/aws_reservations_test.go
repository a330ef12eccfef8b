package e2e

import (
	"fmt"
	"slices"
	"testing"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/test/awscluster"
)

// awsReserved is a node in a reservation, and what becomes of the reservation.
type awsReserved struct {
	// old is the reservation that the node is in at first, next the one that its replacement is in; empty for none.
	old, next string
	// ends is set when EC2 ends the old one. Otherwise the class does not select it any more.
	ends bool
	// stays is set when the node is not replaced.
	stays bool
	// capacityTypes are those that the pool allows.
	capacityTypes []string
}

// TestAWSReservations: a node whose reservation the class does not select any more is replaced. One whose reservation has ended is
// on demand from then on, and is replaced if the pool does not allow on-demand.
func TestAWSReservations(t *testing.T) {
	t.Attr("covers", "A371")
	t.Parallel()
	w := begin(t)
	a := w.account("m5.large")
	both := []string{"on-demand", "reserved"}
	cases := map[string]awsReserved{
		"deselected":         {old: "cr-1", next: "cr-2", capacityTypes: both},
		"deselected-for-all": {old: "cr-3", capacityTypes: both},
		"ended":              {old: "cr-4", next: "cr-5", ends: true, capacityTypes: []string{"reserved"}},
		"ended-and-allowed":  {old: "cr-6", ends: true, stays: true, capacityTypes: both},
	}
	pods, classes := map[string]int32{}, map[string]*awsv1.EC2NodeClass{}
	for name, c := range cases {
		for _, id := range []string{c.old, c.next} {
			if id != "" {
				a.Account.AddReservation(awstest.Reservation{ID: id, InstanceType: "m5.large", Zone: "us-east-1a", Kind: "default", Total: 1, Left: 1})
			}
		}
		classes[name], pods[name] = awsClass(name, reserving(c.old)), 1
		w.create(classes[name], awsPool(name, []string{"m5.large"}, allowCapacityTypes(c.capacityTypes...)), awsPods(name, 1))
	}
	flags := append(a.Flags(), "--feature-gates=ReservedCapacity=true")
	first := w.controller(flags...)
	w.awaitCases(pods)
	old := map[string]ec2Node{}
	for name, c := range cases {
		old[name] = w.reservedNode(a, name, c.old)
	}

	for name, c := range cases {
		if c.ends {
			a.Account.EndReservation(c.old)
		}
		switch {
		case c.next != "":
			change(w, classes[name], reserving(c.next))
		case !c.ends:
			change(w, classes[name], reserving())
		}
	}
	// What has become of reservations is looked at once a minute, and when a controller starts.
	w.must(first.Kill())
	w.controller(flags...)
	for name, c := range cases {
		if before := old[name]; !c.stays {
			w.await("the node of "+name+" is replaced", awsPatience, func() string { return w.replaced(a, name, &before) })
			w.reservedNode(a, name, c.next)
		}
	}
	for name, c := range cases {
		if c.stays && w.reservedNode(a, name, "").instance.ID != old[name].instance.ID {
			t.Errorf("the node of %s was replaced, although its pool allows what it has become", name)
		}
	}
	w.awaitCases(pods)
}

// reservedNode waits until a case has one node, and it and its claim say that its instance is in a reservation as it is; empty for none.
func (w *harness) reservedNode(a *awscluster.AWS, name, reservation string) ec2Node {
	w.t.Helper()
	kind := v1.CapacityTypeReserved
	if reservation == "" {
		kind = v1.CapacityTypeOnDemand
	}
	var node ec2Node
	w.await(fmt.Sprintf("the node of %s is %s %s", name, kind, reservation), awsPatience, func() string {
		nodes, claims := w.nodesOf(a, name), w.claims()
		if len(nodes) != 1 {
			return fmt.Sprintf("%d nodes", len(nodes))
		}
		node = nodes[0]
		at := slices.IndexFunc(claims, func(c v1.NodeClaim) bool { return c.Status.ProviderID == node.Spec.ProviderID })
		if at < 0 {
			return "it has no claim"
		}
		for who, labels := range map[string]map[string]string{"node": node.Labels, "claim": claims[at].Labels} {
			if have := labels[awsv1.LabelCapacityReservationID]; labels[v1.CapacityTypeLabelKey] != kind || have != reservation {
				return fmt.Sprintf("the %s has %s %s", who, labels[v1.CapacityTypeLabelKey], have)
			}
		}
		return expect(node.instance.Reservation == reservation, "the instance in "+reservation+", not in "+node.instance.Reservation)
	})
	return node
}
