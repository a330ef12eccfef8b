package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/test/awscluster"
)

// awsPlace is a case by where its nodes may be, and the reservation that they may be in, if any.
type awsPlace struct {
	zones       []string
	reservation string
	replicas    int32
}

// TestAWSShiftsAndBlocks_A188_A252_A253_A350_A352 begins a zonal shift and lets capacity blocks end. During the shift nothing is launched
// in the zone, and nothing is ended there, whatever is asked or EC2 says; after it, the zone is as any other. A block that is about to
// end gives its nodes up to such as are paid by the hour, what is in another kind of reservation stays there until it ends, and what is
// in none any more says so.
func TestAWSShiftsAndBlocks_A188_A252_A253_A350_A352(t *testing.T) {
	t.Parallel()
	w := begin(t)
	a := w.account("m5.large")
	const shifted, shiftedID, other = "us-east-1a", "use1-az1", "us-east-1b"
	reserve := func(id, kind string, left int, end time.Time) {
		a.Account.AddReservation(awstest.Reservation{ID: id, InstanceType: "m5.large", Zone: other, Kind: kind, Total: 1, Left: left, End: end})
	}
	soon, later := time.Now().Add(30*time.Minute), time.Now().Add(2*time.Hour)
	reserve("cr-b10c", "capacity-block", 1, later)
	reserve("cr-1a575", "default", 1, later)
	reserve("cr-e4d5", "default", 1, later)
	cases := map[string]awsPlace{
		"unwanted": {[]string{shifted}, "", 1}, "failing": {[]string{shifted}, "", 1}, "bound": {[]string{shifted}, "", 0}, "free": {[]string{shifted, other}, "", 0},
		"block": {[]string{other}, "cr-b10c", 1}, "lasting": {[]string{other}, "cr-1a575", 1}, "ended": {[]string{other}, "cr-e4d5", 1},
	}
	flags := append(a.Flags(), "--enable-zonal-shift", "--feature-gates=ReservedCapacity=true")
	first := w.controller(flags...)
	pools, pods := w.settle(cases), map[string]int32{}
	for name, c := range cases {
		pods[name] = c.replicas
	}
	w.awaitCases(pods)
	old := map[string]ec2Node{}
	for name, c := range cases {
		if c.replicas > 0 {
			old[name] = w.onlyNode(a, name)
		}
	}
	for name, kind := range map[string]string{"block": "capacity-block", "lasting": "default", "ended": "default"} {
		n := old[name]
		if obstacle := w.bought(&n, v1.CapacityTypeReserved, cases[name].reservation, kind); obstacle != "" || n.machine.Reservation != cases[name].reservation {
			t.Errorf("the node of %s is in the reservation %q: %s", name, n.machine.Reservation, obstacle)
		}
	}

	a.Account.SetShifts(awstest.Shift{ZoneID: shiftedID, Ends: later})
	reserve("cr-b10c", "capacity-block", 0, soon)
	reserve("cr-1a575", "default", 0, soon)
	a.Account.Change(old["failing"].machine.ID, func(i *awstest.Instance) { i.InstanceFailed = time.Now().Add(-time.Hour) })
	a.Account.Change(old["ended"].machine.ID, func(i *awstest.Instance) { i.Reservation, i.ReservationPreference = "", "" })
	// Shifts are asked for twice a minute, health and reservations once, and all when a controller starts.
	w.must(first.kill())
	second := w.controller(flags...)
	w.announced(pools, cases, shifted, "ZonalShiftActive")
	w.delete(w.claimOf(old["unwanted"].machine.ID))
	w.create(awsPods("bound", 1, apart("bound")), awsPods("free", 2, apart("free")))
	pods["bound"], pods["free"], pods["unwanted"] = 0, 2, 0
	w.awaitCases(pods)
	w.await("what is in the zone is left alone", patience, func() string {
		text, err := os.ReadFile(second.log)
		w.must(err)
		for _, want := range []string{"an unhealthy instance is left for later", "traffic is shifted away from its zone"} {
			if !strings.Contains(string(text), want) {
				return "it does not log " + want
			}
		}
		return ""
	})
	for name, c := range cases {
		if slices.Equal(c.zones, []string{shifted}) && c.replicas > 0 {
			if state := w.state(a, old[name].machine.ID); state != "running" {
				t.Errorf("the instance of %s, in the zone that is shifted away from, is %s", name, state)
			}
		}
	}
	for _, n := range w.nodesOf(a, "free") {
		if n.machine.Zone != other {
			t.Errorf("during a shift away from %s, %s was launched in %s", shifted, n.Name, n.machine.Zone)
		}
	}
	if launched := w.inZone(a, shifted); launched != 2 {
		t.Errorf("%d instances in %s, want the 2 of before the shift", launched, shifted)
	}
	w.await("reservations that end give their nodes up", awsPatience, func() string {
		block := old["block"]
		if obstacle := w.replaced(a, "block", &block); obstacle != "" {
			return "block: " + obstacle
		}
		for name, reservation := range map[string]string{"block": "", "ended": "", "lasting": "cr-1a575"} {
			n, kind := w.onlyNode(a, name), v1.CapacityTypeOnDemand
			if reservation != "" {
				kind = v1.CapacityTypeReserved
			}
			if n.machine.Reservation != reservation || name != "block" && n.machine.ID != old[name].machine.ID {
				return fmt.Sprintf("%s: instance %s in reservation %q", name, n.machine.ID, n.machine.Reservation)
			}
			if obstacle := w.bought(&n, kind, reservation, "default"); obstacle != "" {
				return name + ": " + obstacle
			}
		}
		return ""
	})

	a.Account.SetShifts()
	w.announced(pools, cases, shifted, "ZonalShiftCleared")
	w.must(second.kill())
	w.controller(flags...)
	pods["bound"], pods["unwanted"] = 1, 1
	w.awaitCases(pods)
	w.await("the zone is used again, and what was left there is replaced", awsPatience, func() string {
		for _, name := range []string{"unwanted", "failing"} {
			before := old[name]
			if obstacle := w.replaced(a, name, &before); obstacle != "" {
				return name + ": " + obstacle
			}
		}
		return ""
	})
	if n := w.onlyNode(a, "bound"); n.machine.Zone != shifted {
		t.Errorf("the node of the pod that is bound to %s is in %s", shifted, n.machine.Zone)
	}
}

// settle makes the class, the pool and the pods of each case that has any. The pools are by the name of the case.
func (w *world) settle(cases map[string]awsPlace) map[string]*v1.NodePool {
	w.t.Helper()
	pools := map[string]*v1.NodePool{}
	for name, c := range cases {
		class := awsClass(name)
		if c.reservation != "" {
			class.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: c.reservation}}
		}
		pools[name] = awsPool(name, []string{"m5.large"}, func(p *v1.NodePool) {
			r := &p.Spec.Template.Spec.Requirements
			(*r)[1] = in(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand, v1.CapacityTypeReserved)
			*r = append(*r, in(corev1.LabelTopologyZone, c.zones...))
		})
		if w.create(class, pools[name]); c.replicas > 0 {
			w.create(awsPods(name, c.replicas, apart(name)))
		}
	}
	return pools
}

// apart keeps the pods of a workload on nodes of their own.
func apart(name string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		}}}}
	}
}

// onlyNode is the one node of a case, once it is in order.
func (w *world) onlyNode(a *awscluster.AWS, name string) ec2Node {
	w.t.Helper()
	var out ec2Node
	w.await("the node of "+name+" is in order", patience, func() string {
		nodes := w.nodesOf(a, name)
		if len(nodes) != 1 {
			return fmt.Sprintf("%d nodes", len(nodes))
		}
		out = nodes[0]
		return ""
	})
	return out
}

// bought says what is wrong with the labels that say how an instance was bought, on the node and on its claim.
func (w *world) bought(n *ec2Node, capacityType, reservation, kind string) string {
	w.t.Helper()
	want := map[string]string{v1.CapacityTypeLabelKey: capacityType}
	if reservation == "" {
		kind = ""
	} else {
		want[awsv1.LabelCapacityReservationInterruptible] = "false"
	}
	want[awsv1.LabelCapacityReservationID], want[awsv1.LabelCapacityReservationType] = reservation, kind
	for object, labels := range map[string]map[string]string{"node": n.Labels, "claim": w.claimOf(n.machine.ID).Labels} {
		for key, value := range want {
			if labels[key] != value {
				return fmt.Sprintf("label %s of its %s is %q, not %q", key, object, labels[key], value)
			}
		}
	}
	return ""
}

// claimOf is the claim of an instance.
func (w *world) claimOf(id string) *v1.NodeClaim {
	w.t.Helper()
	claims := w.claims()
	at := slices.IndexFunc(claims, func(c v1.NodeClaim) bool { return strings.HasSuffix(c.Status.ProviderID, "/"+id) })
	if at < 0 {
		w.t.Fatalf("instance %s has no claim", id)
	}
	return &claims[at]
}

// state is the state of an instance.
func (w *world) state(a *awscluster.AWS, id string) string {
	for _, i := range a.Account.Instances() {
		if i.ID == id {
			return i.State
		}
	}
	return "unknown"
}

// inZone is how many instances were ever launched in a zone.
func (w *world) inZone(a *awscluster.AWS, zone string) int {
	n := 0
	for _, i := range a.Account.Instances() {
		if i.Zone == zone {
			n++
		}
	}
	return n
}

// announced waits until the pools that may have nodes in a zone were told of a shift, and makes sure that no others were.
func (w *world) announced(pools map[string]*v1.NodePool, cases map[string]awsPlace, zone, reason string) {
	w.t.Helper()
	w.await("pools are told of the shift: "+reason, patience, func() string {
		for name, pool := range pools {
			if slices.Contains(cases[name].zones, zone) && len(w.events(pool, reason)) == 0 {
				return name + " is not"
			}
		}
		return ""
	})
	for name, pool := range pools {
		if told := w.events(pool, reason); !slices.Contains(cases[name].zones, zone) && len(told) > 0 {
			w.t.Errorf("pool %s, which has nothing to do with %s, is told: %q", name, zone, told)
		}
	}
}
